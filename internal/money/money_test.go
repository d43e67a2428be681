package money_test

import (
	"math"
	"testing"

	"claviger/internal/money"
)

func TestText(t *testing.T) {
	for _, c := range []struct {
		units    int64
		currency string
		want     string
	}{
		{5900, "USD", "$59.00"},
		{5905, "EUR", "59.05 EUR"},
		{0, "USD", "$0.00"},
		{-5, "EUR", "−0.05 EUR"},
		{-123456789, "USD", "−$1,234,567.89"},
		{math.MinInt64, "EUR", "−92,233,720,368,547,758.08 EUR"},
		{5900, "JPY", "5,900 JPY"},
		{-1, "JPY", "−1 JPY"},
		{5900, "KWD", "5.900 KWD"},
		{5900, "", "59.00"},
	} {
		if got := money.Text(c.units, c.currency); got != c.want {
			t.Errorf("%d %s is %q, want %q", c.units, c.currency, got, c.want)
		}
	}
}

// TestPrinted: sales from when every currency had two digits keep that format.
func TestPrinted(t *testing.T) {
	for _, c := range []struct {
		units    int64
		currency string
		old      bool
		want     string
		now      int64 // the same in the smallest unit
	}{
		{590000, "JPY", true, "5,900.00 JPY", 5900},
		{590000, "JPY", false, "590,000 JPY", 5900},
		{5950, "KRW", true, "59.50 KRW", 59},
		{5900, "KWD", true, "59.00 KWD", 59000},
		{5900, "USD", true, "$59.00", 5900},
		{money.Max, "CLF", true, "10,000,000,000.00 CLF", 100 * money.Max},
	} {
		if got := money.Printed(c.units, c.currency, c.old); got != c.want {
			t.Errorf("%d %s, %v: %q, want %q", c.units, c.currency, c.old, got, c.want)
		}
		if got := money.FromHundredths(c.units, c.currency); got != c.now {
			t.Errorf("%d hundredths of %s are %d, want %d", c.units, c.currency, got, c.now)
		}
		want := c.units
		if c.old {
			want = c.now
		}
		if got := money.Units(c.units, c.currency, c.old); got != want {
			t.Errorf("%d %s, %v: %d units, want %d", c.units, c.currency, c.old, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text, currency string
		want           int64
		ok             bool
	}{
		{"49.00", "USD", 4900, true},
		{"49,5", "EUR", 4950, true},
		{"49", "", 4900, true},
		{"0.05", "USD", 5, true},
		{"5900", "JPY", 5900, true},
		{"5.900", "KWD", 5900, true},
		{"10000000000", "USD", money.Max, true},
		{"10000000000.01", "USD", 0, false},
		{"59.00", "JPY", 0, false},
		{"12.345", "USD", 0, false},
		{"1,000.00", "USD", 0, false},
		{"49.", "USD", 0, false},
		{".50", "USD", 0, false},
		{"-1", "USD", 0, false},
		{"+1", "USD", 0, false},
		{"4 9", "USD", 0, false},
		{"99999999999999999999", "USD", 0, false},
		{"", "USD", 0, false},
	} {
		got, ok := money.Parse(c.text, c.currency)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%q %s is %d, %v", c.text, c.currency, got, ok)
		}
		if !ok {
			continue
		}
		if again, ok := money.Parse(money.Input(got, c.currency), c.currency); again != got || !ok {
			t.Errorf("%q %s is typed as %q", c.text, c.currency, money.Input(got, c.currency))
		}
	}
}
