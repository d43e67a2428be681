package payment

import (
	"testing"

	"claviger/internal/money"
)

// TestStripeAmounts: each amount is charged and read in Stripe's unit of its currency. The pairs
// come from Stripe's documentation: our amount and Stripe's.
func TestStripeAmounts(t *testing.T) {
	for currency, of := range map[string]struct{ ours, stripe int64 }{
		"USD": {5900, 5900}, "EUR": {5900, 5900}, "HUF": {590000, 590000}, "ISK": {5900, 590000},
		"BIF": {5900, 5900}, "CLP": {5900, 5900}, "DJF": {5900, 5900}, "GNF": {5900, 5900}, "JPY": {5900, 5900}, "KMF": {5900, 5900},
		"KRW": {5900, 5900}, "PYG": {5900, 5900}, "RWF": {5900, 5900}, "VND": {5900, 5900}, "VUV": {5900, 5900},
		"XAF": {5900, 5900}, "XOF": {5900, 5900}, "XPF": {5900, 5900}, "MGA": {590000, 5900},
		"BHD": {59000, 59000}, "JOD": {59000, 59000}, "KWD": {59000, 59000}, "OMR": {59000, 59000}, "TND": {59000, 59000},
	} {
		if got, ok := stripeAmount(of.ours, currency); !ok || got != of.stripe {
			t.Errorf("%d %s is %d, %t at Stripe, want %d", of.ours, currency, got, ok, of.stripe)
		}
		if got := OwnAmount(of.stripe, currency); got != of.ours {
			t.Errorf("%d %s of Stripe is %d, want %d", of.stripe, currency, got, of.ours)
		}
	}
	for _, of := range []struct {
		units    int64
		currency string
		stripe   int64
		ok       bool
	}{
		{0, "USD", 0, true},
		{1, "USD", 1, true},
		{-1, "USD", 0, false},
		{money.Max, "USD", money.Max, true},
		{money.Max + 1, "USD", 0, false},
		{590001, "MGA", 0, false}, // there are no hundredths
		{590010, "MGA", 0, false},
		{590100, "MGA", 5901, true},
		{59001, "KWD", 59001, false}, // the last digit must be 0
		{59010, "KWD", 59010, true},
		{5900, "US", 0, false},
		{5900, "USDT", 0, false},
		{5900, "UGX", 0, false},
		{5900, "IQD", 0, false},
		{5900, "LYD", 0, false},
		{5900, "CLF", 0, false},
		{5900, "UYW", 0, false},
		{5900, "UYI", 0, false},
	} {
		if got, ok := stripeAmount(of.units, of.currency); got != of.stripe || ok != of.ok {
			t.Errorf("%d %s is %d, %t at Stripe", of.units, of.currency, got, ok)
		}
	}
}

// TestMinimums: the smallest charges are those of Stripe's documentation. Amounts that can never be
// charged are not reported as too small.
func TestMinimums(t *testing.T) {
	for currency, least := range map[string]int64{
		"USD": 50, "EUR": 50, "GBP": 30, "JPY": 50, "AUD": 50, "CAD": 50, "CHF": 50, "NZD": 50, "SGD": 50, "BRL": 50,
		"DKK": 250, "NOK": 300, "SEK": 300, "HKD": 400, "MXN": 1000, "PLN": 200, "CZK": 1500, "HUF": 17500, "RON": 200, "INR": 50, "THB": 0,
	} {
		if ok, small := Chargeable(least, currency); !ok || small {
			t.Errorf("%d %s: %t, %t", least, currency, ok, small)
		}
		if ok, small := Chargeable(least-1, currency); ok != (least > 0) || small != (least > 0) {
			t.Errorf("%d %s: %t, %t", least-1, currency, ok, small)
		}
	}
}
