// Package ledger stores the earnings and debts of sales: double entry, per currency, in the smallest
// unit. A balance is the amount in an account; debts are negative.
//
// The balances of a sale depend only on its state. A posting is the difference between the balances
// after and before a change. Therefore the order of facts does not matter, a repeated fact posts
// nothing, and every posting sums to zero.
package ledger

import (
	"math/big"
	"slices"
	"time"
)

// Account is an account in the ledger of one partner and currency.
type Account string

// The accounts.
const (
	Provider  Account = "provider"  // money at the payment provider
	External  Account = "external"  // money that the marketplace's own checkout took
	Held      Account = "held"      // money that the partner took, before its sale is divided
	Fees      Account = "fees"      // fees of the provider that the marketplace bears
	Margin    Account = "margin"    // earnings of the marketplace
	Share     Account = "share"     // earnings of the partner that no payout may include yet
	Payable   Account = "payable"   // earnings of the partner that a payout may include
	Undivided Account = "undivided" // sales of a partner without terms
	Disputed  Account = "disputed"  // the partner's part of money that a bank examines

	InPayout    Account = "in_payout"   // reserved by a payout run
	Paid        Account = "paid"        // paid to the partner
	Adjustments Account = "adjustments" // of an admin
)

// Collector names the party that took the buyer's money.
type Collector string

// The collectors.
const (
	ByProvider    Collector = "provider"
	ByMarketplace Collector = "marketplace"
	ByPartner     Collector = "partner"
)

// Whole is a share of everything, in basis points.
const Whole = 10_000

// Bearer names the party that bears the fees of the provider.
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

// Fee is a fee of the provider for a payment or a dispute. A returned fee is negative.
type Fee struct {
	Source   string // the provider's id
	Amount   int64
	Currency string // of the settlement; it may differ from the sale's
	Rate     Ratio  // price of one unit of that currency in the currency of the sale
	Dispute  bool   // of a dispute
	At       time.Time
}

// Ratio is a fraction.
type Ratio struct{ Num, Den int64 }

// Sale is the state of one sale, as far as it concerns money.
type Sale struct {
	Gross     int64
	Currency  string
	Collected Collector

	Back     int64 // refunded, or lost in a dispute; more than Gross if both happened
	Disputed int64 // under review by a bank, in addition to Back
	Fees     []Fee

	Division *Division // nil: the partner had no terms yet
	Payable  bool
	// Settled is the value of Back when the sale was settled outside the ledger; nil: it is not settled.
	// The balances of a settled sale contain only later changes, and no fee of the payment.
	Settled *int64
}

// Balance is the amount of one currency in an account.
type Balance struct {
	Account  Account
	Amount   int64
	Currency string
}

// portion returns an amount times fractions, rounded towards zero once. It is the only function that
// rounds. The result is 0 if a denominator is 0.
func portion(amount int64, ratios ...Ratio) int64 {
	product := big.NewInt(amount)
	divisor := big.NewInt(1)
	for _, r := range ratios {
		if r.Den == 0 {
			return 0
		}
		product.Mul(product, big.NewInt(r.Num))
		divisor.Mul(divisor, big.NewInt(r.Den))
	}
	return product.Quo(product, divisor).Int64()
}

// share returns the partner's share of the price, reduced in proportion to the money that is back.
func (s Sale) share(back int64) int64 {
	all := portion(s.Gross, Ratio{s.Division.ShareBP, Whole})
	return all - portion(all, Ratio{back, s.Gross})
}

// bears returns the part of a fee that the partner bears, in the currency of the sale.
func (d Division) bears(f Fee) int64 {
	switch d.Bears {
	case PartnerBears:
		return portion(f.Amount, f.Rate)
	case ByShare:
		return portion(f.Amount, f.Rate, Ratio{d.ShareBP, Whole})
	case MarketplaceBears:
	}
	return 0
}

// kept returns the price less the money that is back. It is negative if a bank returned money that was
// already refunded.
func (s Sale) kept() int64 {
	if s.Collected == ByProvider {
		return s.Gross - s.Back
	}
	return s.Gross - min(s.Back, s.Gross)
}

// Balances returns the balances of the sale that are not zero.
func (s Sale) Balances() []Balance {
	var b balances
	s.add(&b)
	if s.Settled != nil {
		then := Sale{
			Gross: s.Gross, Currency: s.Currency, Collected: s.Collected, Division: s.Division, Back: *s.Settled,
			Payable: s.Payable,
			Fees:    slices.DeleteFunc(slices.Clone(s.Fees), func(f Fee) bool { return f.Dispute }),
		}
		var settled balances
		then.add(&settled)
		for _, l := range settled {
			b.add(l.Account, l.Currency, -l.Amount)
		}
	}
	return b.written()
}

// add adds the balances of the sale as if it were not settled. The marketplace bears money that a buyer
// got back twice.
func (s Sale) add(b *balances) {
	back := min(s.Back, s.Gross)
	disputed := min(s.Disputed, s.Gross-back)
	kept := s.Gross - back
	if s.Division == nil {
		s.collect(b)
		b.add(Undivided, s.Currency, -(kept - disputed))
		b.add(Disputed, s.Currency, -disputed)
		b.add(Margin, s.Currency, kept-s.kept())
		s.addFees(b, "")
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
	s.collect(b)
	free := s.share(back + disputed)
	b.add(earned, s.Currency, -free)
	b.add(Disputed, s.Currency, -(share - free))
	b.add(Margin, s.Currency, -(s.kept() - share))
	s.addFees(b, earned)
}

// collect adds the money to the account of its collector.
func (s Sale) collect(b *balances) {
	switch s.Collected {
	case ByProvider:
		b.add(Provider, s.Currency, s.kept())
	case ByPartner:
		b.add(Held, s.Currency, s.kept())
	case ByMarketplace:
		b.add(External, s.Currency, s.kept())
	}
}

// addFees adds the fees. earned is the account of the partner's earnings; "": the sale is not divided.
func (s Sale) addFees(b *balances, earned Account) {
	for _, f := range s.Fees {
		b.add(Provider, f.Currency, -f.Amount)
		b.add(Fees, f.Currency, f.Amount)
		if earned != "" {
			borne := s.Division.bears(f)
			b.add(earned, s.Currency, borne)
			b.add(Fees, s.Currency, -borne)
		}
	}
}

// balances are the balances of different accounts.
type balances []Balance

// add adds an amount to one of the balances.
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
