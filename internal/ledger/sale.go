// Package ledger knows what was earned and what is owed: double entry, per currency, in the
// smallest unit. A balance says how much an account has; money that is owed is negative.
//
// What the accounts must show of one sale follows from the state of the sale alone. A posting is
// the difference between what they show and what they must show. So the order of facts does not
// matter, a fact that comes twice posts nothing, and every posting sums to zero.
package ledger

import "math/bits"

// Account is an account in the ledger of one partner and currency.
type Account string

// The accounts.
const (
	Provider  Account = "provider"  // money at the payment provider
	External  Account = "external"  // money that the marketplace's own checkout took
	Held      Account = "held"      // money that the partner took, before its sale is divided
	Fees      Account = "fees"      // fees of the provider that the marketplace bears
	Margin    Account = "margin"    // what the marketplace earned
	Share     Account = "share"     // what the partner earned, and waits
	Payable   Account = "payable"   // what the partner earned, and a payout may pay
	Undivided Account = "undivided" // sales of a partner without terms
	Disputed  Account = "disputed"  // the partner's part of money that a bank examines

	InPayout    Account = "in_payout"   // reserved by a payout run
	Paid        Account = "paid"        // paid to the partner
	Adjustments Account = "adjustments" // of an admin
)

// Collector is who took the buyer's money.
type Collector string

// The collectors.
const (
	ByProvider    Collector = "provider"
	ByMarketplace Collector = "marketplace"
	ByPartner     Collector = "partner"
)

// whole is a share of everything, in basis points.
const whole = 10_000

// Bearer is who bears the fees of the provider.
type Bearer string

// The bearers.
const (
	MarketplaceBears Bearer = "marketplace"
	PartnerBears     Bearer = "partner"
	ByShare          Bearer = "share" // each bears its part of the price
)

// Division says how a sale is divided.
type Division struct {
	ShareBP int64 // the partner's share of the price, in basis points
	Bears   Bearer
}

// Fee is what the provider took for a sale and its disputes.
type Fee struct {
	Amount   int64
	Currency string // of the settlement; it may differ from the sale's
	InSale   int64  // the same in the currency of the sale, rounded down
}

// Sale is the state of one sale, as far as it concerns money.
type Sale struct {
	Gross     int64
	Currency  string
	Collected Collector

	Back     int64 // refunded, or lost in a dispute
	Disputed int64 // what a bank examines now, in addition to Back
	Fee      Fee

	Division *Division // nil: the partner had no terms yet
	Payable  bool
	// Settled is what was back when the sale was settled outside the ledger; nil: it is not. A
	// settled sale shows only what happened to it later.
	Settled *int64
}

// Balance is what one account has in one currency.
type Balance struct {
	Account  Account
	Amount   int64
	Currency string
}

// portion returns the part of an amount that numerator is of denominator, rounded down. It is the
// only function that rounds. The amount is not negative, and the numerator at most the denominator.
func portion(amount, numerator, denominator int64) int64 {
	if denominator == 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(amount), uint64(numerator))
	part, _ := bits.Div64(high, low, uint64(denominator))
	return int64(part)
}

// share returns the partner's share of the price, less the same part of it as is back of the price.
func (s Sale) share(back int64) int64 {
	all := portion(s.Gross, s.Division.ShareBP, whole)
	return all - portion(all, back, s.Gross)
}

// borne returns the part of the fee that the partner bears, in the currency of the sale.
func (s Sale) borne() int64 {
	switch s.Division.Bears {
	case MarketplaceBears:
		return 0
	case PartnerBears:
		return s.Fee.InSale
	case ByShare:
		return portion(s.Fee.InSale, s.Division.ShareBP, whole)
	}
	return 0
}

// Balances returns what the accounts must show of the sale.
func (s Sale) Balances() []Balance {
	var b balances
	s.add(&b)
	if s.Settled != nil {
		then := Sale{
			Gross: s.Gross, Currency: s.Currency, Collected: s.Collected, Division: s.Division, Back: *s.Settled,
			Payable: s.Payable,
		}
		var settled balances
		then.add(&settled)
		for _, l := range settled {
			b.add(l.Account, l.Currency, -l.Amount)
		}
	}
	return b.written()
}

// add adds what the accounts must show of a sale that is not settled.
func (s Sale) add(b *balances) {
	back := min(s.Back, s.Gross)
	disputed := min(s.Disputed, s.Gross-back)
	kept := s.Gross - back
	if s.Division == nil {
		s.collect(b, kept, Held)
		b.add(Undivided, s.Currency, -(kept - disputed))
		b.add(Disputed, s.Currency, -disputed)
		s.addFee(b, 0)
		return
	}
	earned := Share
	if s.Payable {
		earned = Payable
	}
	share := s.share(back)
	if s.Collected == ByPartner {
		b.add(earned, s.Currency, kept-share)
		b.add(Margin, s.Currency, -(kept - share))
		return
	}
	s.collect(b, kept, External)
	free := s.share(back + disputed)
	b.add(earned, s.Currency, -free)
	b.add(Disputed, s.Currency, -(share - free))
	b.add(Margin, s.Currency, -(kept - share))
	borne := s.borne()
	b.add(earned, s.Currency, borne)
	s.addFee(b, borne)
}

// collect adds the money itself to the account of the person who took it.
func (s Sale) collect(b *balances, kept int64, partners Account) {
	switch s.Collected {
	case ByProvider:
		b.add(Provider, s.Currency, kept)
	case ByPartner:
		b.add(partners, s.Currency, kept)
	default:
		b.add(External, s.Currency, kept)
	}
}

// addFee adds the fee, of which the partner bears a part.
func (s Sale) addFee(b *balances, borne int64) {
	b.add(Provider, s.Fee.Currency, -s.Fee.Amount)
	b.add(Fees, s.Fee.Currency, s.Fee.Amount)
	b.add(Fees, s.Currency, -borne)
}

// balances are the balances of different accounts.
type balances []Balance

// add changes one of the balances.
func (b *balances) add(account Account, currency string, amount int64) {
	if amount == 0 {
		return
	}
	for i, l := range *b {
		if l.Account == account && l.Currency == currency {
			(*b)[i].Amount += amount
			return
		}
	}
	*b = append(*b, Balance{account, amount, currency})
}

// written returns the balances that are not zero.
func (b balances) written() []Balance {
	var list []Balance
	for _, l := range b {
		if l.Amount != 0 {
			list = append(list, l)
		}
	}
	return list
}
