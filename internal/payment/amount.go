package payment

import (
	"slices"

	"claviger/internal/money"
)

// Stripe counts in units that are not always those of ISO 4217. stripeDigits has the
// currencies that Stripe gives another number of digits than two.
var stripeDigits = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "JPY": 0, "KMF": 0, "KRW": 0, "MGA": 0, "PYG": 0, "RWF": 0, "VND": 0, "VUV": 0,
	"XAF": 0, "XOF": 0, "XPF": 0, "BHD": 3, "JOD": 3, "KWD": 3, "OMR": 3, "TND": 3,
}

// refusedCurrencies are those that Stripe does not take, or documents in two ways.
var refusedCurrencies = []string{"UGX", "IQD", "LYD", "CLF", "UYW", "UYI"}

// stripeAmount is an amount in Stripe's unit. Not every amount can be charged: of dinars
// the last digit must be 0, of crowns of Iceland there are no hundredths.
func stripeAmount(units int64, currency string) (int64, bool) {
	if len(currency) != 3 || slices.Contains(refusedCurrencies, currency) || units < 0 || units > money.Max {
		return 0, false
	}
	ours, theirs := money.Digits(currency), digitsAtStripe(currency)
	for ; ours < theirs; ours++ {
		units *= 10
	}
	for ; ours > theirs; ours-- {
		if units%10 != 0 {
			return 0, false
		}
		units /= 10
	}
	return units, theirs != 3 || units%10 == 0
}

// OwnAmount is an amount of Stripe in our unit. The currency is in capitals.
func OwnAmount(units int64, currency string) int64 {
	ours, theirs := money.Digits(currency), digitsAtStripe(currency)
	for ; theirs < ours; theirs++ {
		units *= 10
	}
	for ; theirs > ours; theirs-- {
		units /= 10
	}
	return units
}

func digitsAtStripe(currency string) int {
	if n, ok := stripeDigits[currency]; ok {
		return n
	}
	return 2
}

// minimums are the smallest charges, in Stripe's units. Others depend on the account's own
// currency; Stripe refuses what is too small.
var minimums = map[string]int64{
	"USD": 50, "EUR": 50, "GBP": 30, "JPY": 50, "AUD": 50, "CAD": 50, "CHF": 50, "NZD": 50, "SGD": 50, "BRL": 50,
	"DKK": 250, "NOK": 300, "SEK": 300, "HKD": 400, "MXN": 1000, "PLN": 200, "CZK": 1500, "HUF": 17500, "RON": 200, "INR": 50,
}

// Chargeable reports whether an amount can be charged at all, and whether it is too small
// for that.
func Chargeable(units int64, currency string) (ok, tooSmall bool) {
	n, ok := stripeAmount(units, currency)
	return ok, ok && n < minimums[currency]
}
