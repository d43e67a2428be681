// Package ledger knows what was earned and what is owed: double entry, per currency, in the
// smallest unit. A balance says how much an account has; money that is owed is negative.
//
// What the accounts must show of one sale follows from the state of the sale alone. A posting is
// the difference between what they show and what they must show. So the order of facts does not
// matter, a fact that comes twice posts nothing, and every posting sums to zero.
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

// Fee is what the provider took: for a payment, or for a dispute of it. The fee of a dispute can be
// negative, where it is given back.
type Fee struct {
	Source   string // the provider's id
	Amount   int64
	Currency string // of the settlement; it may differ from the sale's
	Rate     Ratio  // what one unit of that currency is in the currency of the sale
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

	Back     int64 // refunded, or lost in a dispute; the same money may be both
	Disputed int64 // what a bank examines now, in addition to Back
	Fees     []Fee

	Division *Division // nil: the partner had no terms yet
	Payable  bool
	// Settled is what was back when the sale was settled outside the ledger; nil: it is not. A
	// settled sale shows only what happened to it later. The fee of its payment was settled with it.
	Settled *int64
}

// Balance is what one account has in one currency.
type Balance struct {
	Account  Account
	Amount   int64
	Currency string
}

// portion returns an amount times fractions, rounded towards zero once. It is the only function that
// rounds. A fraction of nothing is 0.
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

// share returns the partner's share of the price, less the same part of it as is back of the price.
func (s Sale) share(back int64) int64 {
	all := portion(s.Gross, Ratio{s.Division.ShareBP, whole})
	return all - portion(all, Ratio{back, s.Gross})
}

// bears returns the part of a fee that the partner bears, in the currency of the sale.
func (d Division) bears(f Fee) int64 {
	switch d.Bears {
	case PartnerBears:
		return portion(f.Amount, f.Rate)
	case ByShare:
		return portion(f.Amount, f.Rate, Ratio{d.ShareBP, whole})
	case MarketplaceBears:
	}
	return 0
}

// kept returns the money of the sale that is not back. It is negative if a buyer got more than was paid:
// a refund, and the same money again from a bank.
func (s Sale) kept() int64 {
	if s.Collected == ByProvider {
		return s.Gross - s.Back
	}
	return s.Gross - min(s.Back, s.Gross)
}

// Balances returns what the accounts must show of the sale.
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

// add adds what the accounts must show of a sale that is not settled. The marketplace bears what a buyer
// got beyond the price.
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

// collect adds the money itself to the account of the person who took it.
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

// addFees adds the fees. The partner bears its part from what it earned; "": nothing is divided yet.
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
