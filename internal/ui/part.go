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

// plain shows errors where no other pages are available.
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
	Busy  string // label while the form is being sent; "": unchanged
	Kind  string // primary, secondary, danger or quiet; "" is primary
	Name  string // sent value, if the form has several buttons
	Value string
}

// Empty is the message for an empty list, with a next step, for the part "empty".
type Empty struct {
	Title  string
	Text   string
	URL    string
	Action string // label of the link to URL, "" for none
}

// Key is a text to copy, for the part "key".
type Key struct {
	Label string // such as "license key"
	Value string
}

// shortKey is the number of characters that Short shows of a long text.
const shortKey = 16

// Short returns the beginning and the end of a long text.
func (k Key) Short() string {
	r := []rune(k.Value)
	if len(r) <= shortKey+1 {
		return k.Value
	}
	return string(r[:shortKey-6]) + "…" + string(r[len(r)-6:])
}

// Receipt lists payments, for the part "receipt".
type Receipt struct {
	Caption string
	Rows    []ReceiptRow
}

// ReceiptRow is one payment.
type ReceiptRow struct {
	At       time.Time
	What     string
	Number   string // of the receipt
	Link     string // its page; "": none
	Status   string // such as paid or refunded, shown as a badge
	Cents    int64  // 0 is free
	Currency string
	Old      bool // Cents counts hundredths for every currency
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
			e.URL = link[0]
			e.Action = link[1]
		}
		return e
	},
	"link": link,
	"key":  func(label, value string) Key { return Key{label, value} },
}

// paid formats a paid amount; old ones are in hundredths for every currency.
func paid(units int64, currency string, hundredths bool) string {
	return strings.ReplaceAll(money.Printed(units, currency, hundredths), " ", "\u00a0")
}

// amount formats an amount of money without line breaks.
func amount(units int64, currency string) string {
	return strings.ReplaceAll(money.Text(units, currency), " ", "\u00a0")
}

// Count formats a number with commas. Use plural.Of before a noun.
func Count(n int64) string { return plural.Number(n) }

// Percent returns n as a share of a whole, to a tenth. Only the whole is 100 %; without a whole it
// is "–".
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

// tones are the styles of badges. Other statuses are neutral.
var tones = map[string]string{
	"pass": "good", "right": "good", "running": "calm", "warn": "warn", "unclear": "warn",
	"interrupted": "warn", "fail": "bad", "wrong": "bad",
	"active": "good", "paid": "good", "delivered": "good", "connected": "good", "ok": "good",
	"inactive": "calm", "ready": "calm", "new": "calm", "begun": "calm", "pending": "calm", "disputed": "bad",
	"payable": "good", "undivided": "warn",
	"held": "warn", "warning": "warn", "waiting": "warn", "requested": "warn", "retrying": "warn", "paused": "warn",
	"ready_to_activate": "calm", "on_hold": "warn", "disconnected": "neutral", "refunded": "neutral",
	"healthy": "good", "parked": "bad", "no_url": "warn",
	"failing": "bad", "late": "bad", "given_up": "bad", "exhausted": "bad", "superseded": "neutral",
	"done": "good", "stopped": "warn", "prepared": "calm", "paying": "calm", "reserved": "calm", "sent": "calm",
	"included": "good", "left out": "warn",
	"deactivated": "bad", "failed": "bad", "error": "bad", "revoked": "bad",
}

func tone(status any) string { return toneOf(fmt.Sprint(status)) }

func toneOf(status string) string { return or(tones[status], "neutral") }
