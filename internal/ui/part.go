package ui

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"claviger/internal/money"
	"claviger/internal/plural"
)

// plain are pages of no package, for errors where no other pages are known.
var plain = func() *Pages {
	p, err := New(nil, nil)
	if err != nil {
		panic(err) // the shell is part of the program
	}
	return p
}()

// Button is a form's button, for the part "button".
type Button struct {
	Label string
	Busy  string // what it says while the form is sent; "" leaves the label
	Kind  string // primary, secondary, danger or quiet; "" is primary
	Name  string // what it sends, when the form has several
	Value string
}

// Empty says that there is nothing to list, and what to do about it, for the part
// "empty".
type Empty struct {
	Title  string
	Text   string
	URL    string
	Action string // label of the link to URL, "" when there is none
}

// Key is a text that people copy, for the part "key".
type Key struct {
	Label string // what it is, such as "license key"
	Value string
}

// shortKey is how many characters of a long text Short shows.
const shortKey = 16

// Short is the beginning and the end of a text that is too long to read.
func (k Key) Short() string {
	r := []rune(k.Value)
	if len(r) <= shortKey+1 {
		return k.Value
	}
	return string(r[:shortKey-6]) + "…" + string(r[len(r)-6:])
}

// Receipt lists what was paid, for the part "receipt".
type Receipt struct {
	Caption string
	Rows    []ReceiptRow
}

// ReceiptRow is one payment.
type ReceiptRow struct {
	At       time.Time
	What     string
	Number   string // of the receipt
	Link     string // its page; "": there is none
	Status   string // such as paid or refunded, shown as a badge
	Cents    int64  // 0 is free
	Currency string
	Old      bool // Cents counts hundredths, whatever the currency
}

// helpers are the functions that templates may call.
var helpers = template.FuncMap{
	"money":  amount,
	"paid":   paid,
	"time":   moment,
	"exact":  exact,
	"day":    day,
	"label":  label,
	"tone":   tone,
	"inc":    inc,
	"says":   sentence,
	"plural": countOf,
	"button": func(label string, busyKind ...string) Button {
		b := Button{Label: label}
		if len(busyKind) > 0 {
			b.Busy = busyKind[0]
		}
		if len(busyKind) > 1 {
			b.Kind = busyKind[1]
		}
		return b
	},
	"empty": func(title, text string, link ...string) Empty {
		e := Empty{Title: title, Text: text}
		if len(link) == 2 {
			e.URL, e.Action = link[0], link[1]
		}
		return e
	},
	"link": link,
	"key":  func(label, value string) Key { return Key{label, value} },
}

// paid writes what was paid, which may be hundredths whatever the currency.
func paid(units int64, currency string, hundredths bool) string {
	return strings.ReplaceAll(money.Printed(units, currency, hundredths), " ", "\u00a0")
}

// amount writes an amount of money that is not broken into two lines.
func amount(units int64, currency string) string {
	return strings.ReplaceAll(money.Text(units, currency), " ", "\u00a0")
}

// Count writes a number with commas. One that stands before a noun is written by
// plural.Of.
func Count(n int64) string { return plural.Number(n) }

// Percent writes which part of a whole n is, to a tenth; it says 100 % only of all, and
// "–" where there is no whole.
func Percent(n, of int64) string {
	if of == 0 {
		return "–"
	}
	p := math.Floor(1000*float64(n)/float64(of)) / 10
	return strconv.FormatFloat(p, 'f', -1, 64) + " %"
}

var labelWords = strings.NewReplacer("api_", "API ", "_url", " URL", "_", " ", "-", " ")

// label makes a status readable: "refund_reversed" is "Refund reversed".
func label(status any) string { return labelOf(fmt.Sprint(status)) }

func labelOf(s string) string {
	if strings.ContainsAny(s, "_-") {
		s = labelWords.Replace(s)
	}
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + s[size:]
}

// tones say how a badge looks. A status that is not listed is neutral.
var tones = map[string]string{
	"pass": "good", "right": "good", "running": "calm", "warn": "warn", "unclear": "warn", "interrupted": "warn", "fail": "bad", "wrong": "bad",
	"active": "good", "paid": "good", "delivered": "good", "connected": "good", "ok": "good",
	"inactive": "calm", "ready": "calm", "new": "calm", "pending": "calm",
	"held": "warn", "warning": "warn", "waiting": "warn", "retrying": "warn", "paused": "warn",
	"ready_to_activate": "calm", "on_hold": "warn", "disconnected": "neutral", "refunded": "neutral",
	"healthy": "good", "parked": "bad", "no_url": "warn",
	"failing": "bad", "late": "bad", "given_up": "bad", "exhausted": "bad", "superseded": "neutral", "done": "good", "stopped": "warn",
	"deactivated": "bad", "failed": "bad", "error": "bad", "revoked": "bad",
}

func tone(status any) string { return toneOf(fmt.Sprint(status)) }

func toneOf(status string) string { return or(tones[status], "neutral") }
