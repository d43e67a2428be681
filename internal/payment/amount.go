package payment

import (
	"slices"

	"claviger/internal/money"
)

// stripeDigits has the currencies for which Stripe uses another number of digits than two. It
// differs from ISO 4217.
var stripeDigits = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "JPY": 0, "KMF": 0, "KRW": 0, "MGA": 0, "PYG": 0, "RWF": 0,
	"VND": 0, "VUV": 0,
	"XAF": 0, "XOF": 0, "XPF": 0, "BHD": 3, "JOD": 3, "KWD": 3, "OMR": 3, "TND": 3,
}

// refusedCurrencies are currencies that Stripe does not accept, or documents in two ways.
var refusedCurrencies = []string{"UGX", "IQD", "LYD", "CLF", "UYW", "UYI"}

// stripeAmount converts an amount to Stripe's unit. Some amounts cannot be charged: dinars must end
// in 0, and Icelandic crowns have no hundredths.
func stripeAmount(units int64, currency string) (int64, bool) {
	if len(currency) != 3 || slices.Contains(refusedCurrencies, currency) || units < 0 || units > money.Max {
		return 0, false
	}
	theirs := digitsAtStripe(currency)
	more := theirs - money.Digits(currency)
	for range more {
		units *= 10
	}
	for range -more {
		if units%10 != 0 {
			return 0, false
		}
		units /= 10
	}
	return units, theirs != 3 || units%10 == 0
}

// OwnAmount converts an amount of Stripe to our unit. The currency is in capitals.
func OwnAmount(units int64, currency string) int64 {
	more := digitsAtStripe(currency) - money.Digits(currency)
	for range -more {
		units *= 10
	}
	for range more {
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

// minimums are the smallest charges, in Stripe's units. For other currencies the minimum depends on
// the account's currency, and Stripe refuses smaller charges.
var minimums = map[string]int64{
	"USD": 50, "EUR": 50, "GBP": 30, "JPY": 50, "AUD": 50, "CAD": 50, "CHF": 50, "NZD": 50, "SGD": 50, "BRL": 50,
	"DKK": 250, "NOK": 300, "SEK": 300, "HKD": 400, "MXN": 1000, "PLN": 200, "CZK": 1500, "HUF": 17500,
	"RON": 200, "INR": 50,
}

// Chargeable reports whether an amount can be charged at all, and whether it is too small
// for that.
func Chargeable(units int64, currency string) (ok, tooSmall bool) {
	n, ok := stripeAmount(units, currency)
	return ok, ok && n < minimums[currency]
}
