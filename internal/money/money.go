// Package money formats and parses amounts of money. An amount is a whole number of the smallest
// unit of its currency: cents of a dollar, whole yen.
package money

import (
	"strconv"
	"strings"

	"claviger/internal/plural"
)

// digits are the digits after the point, if not two (ISO 4217).
var digits = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0,
	"RWF": 0, "UGX": 0, "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

// Digits returns the number of digits after the point for a currency.
func Digits(currency string) int {
	if n, ok := digits[currency]; ok {
		return n
	}
	return 2
}

// Text formats an amount for people: "$59.00" for dollars, "59.00 EUR" and "5,900 JPY" for others.
func Text(units int64, currency string) string { return text(units, currency, Digits(currency)) }

func text(units int64, currency string, digits int) string {
	var space [48]byte
	b := space[:0]
	n := uint64(units)
	if units < 0 {
		b = append(b, "−"...)
		n = -n
	}
	if currency == "USD" {
		b = append(b, '$')
		currency = ""
	}
	b = appendAmount(b, n, digits, plural.Grouped)
	if currency != "" {
		b = append(append(b, ' '), currency...)
	}
	return string(b)
}

// Printed formats an amount like Text. An old amount in hundredths keeps its former format:
// "5,900.00 JPY".
func Printed(units int64, currency string, hundredths bool) string {
	if hundredths {
		return text(units, currency, 2)
	}
	return Text(units, currency)
}

// Units returns an amount in the smallest unit of its currency. Old amounts may be in hundredths
// for every currency; they are rounded down.
func Units(units int64, currency string, hundredths bool) int64 {
	if hundredths {
		return FromHundredths(units, currency)
	}
	return units
}

// FromHundredths converts hundredths to the smallest unit of the currency, rounded down.
func FromHundredths(units int64, currency string) int64 {
	for range Digits(currency) {
		units *= 10
	}
	return units / 100
}

// Input formats an amount for a form: "59.00", or "5900" for yen. units must not be negative.
func Input(units int64, currency string) string {
	return string(
		appendAmount(nil, uint64(units), Digits(currency), func(n uint64) string { return strconv.FormatUint(n, 10) }),
	)
}

// appendAmount appends an amount with the given number of digits after the point.
func appendAmount(b []byte, n uint64, digits int, whole func(uint64) string) []byte {
	unit := uint64(1)
	for range digits {
		unit *= 10
	}
	b = append(b, whole(n/unit)...)
	if digits > 0 {
		b = append(b, '.')
	}
	for unit /= 10; unit > 0; unit /= 10 {
		b = append(b, '0'+byte(n/unit%10))
	}
	return b
}

// Max is the largest amount.
const Max = 1_000_000_000_000

// Parse reads a typed amount, with a point or a comma before at most as many digits as the currency
// has.
func Parse(text, currency string) (units int64, ok bool) {
	whole, part, pointed := strings.Cut(strings.ReplaceAll(text, ",", "."), ".")
	most := Digits(currency)
	if whole == "" || len(part) > most || pointed && part == "" || strings.Trim(whole+part, "0123456789") != "" {
		return 0, false
	}
	units, err := strconv.ParseInt(whole+part+strings.Repeat("0", most-len(part)), 10, 64)
	return units, err == nil && units <= Max
}
