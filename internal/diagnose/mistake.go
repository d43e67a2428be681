package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"claviger/internal/courier"
)

// Mistake is a common error in verifying signatures. A server that makes it accepts a post signed
// in this way.
type Mistake struct {
	Signed string // how the post was signed
	Likely string // text for the partner; WithBrand inserts its header names
	Change func(*Forgery)
	when   func(courier.Secrets) bool // nil: always possible
}

// Mistakes returns the common mistakes that are possible with these secrets, the most common first.
func Mistakes(secrets courier.Secrets) []Mistake {
	return slices.DeleteFunc(slices.Clone(mistakes), func(m Mistake) bool { return m.when != nil && !m.when(secrets) })
}

var mistakes = []Mistake{
	{
		Signed: "over the body alone",
		Likely: "Your server computes the signature over the body alone. Put the timestamp before it: " +
			"X-<Brand>-Signature is over X-<Brand>-Timestamp and at once the body, webhook-signature over the id, a " +
			"dot, the timestamp, a dot, the body.",
		Change: func(f *Forgery) {
			f.BrandText = f.Body
			f.Text = f.Body
		},
	},
	{
		Signed: "over the body as Python's json.dumps writes it",
		Likely: reserialised + "(as Python's json.dumps does, with spaces and \\u escapes).",
		Change: func(f *Forgery) { f.Over(python(f.Body)) },
	},
	{
		Signed: "over the body in ASCII, as Python's json.dumps writes it without spaces",
		Likely: reserialised + "(compactly, with \\u escapes, as Python's json.dumps does with separators).",
		Change: func(f *Forgery) { f.Over(ascii(f.Body)) },
	},
	{
		Signed: "over the body as PHP's json_encode writes it",
		Likely: reserialised + "(as PHP's json_encode does, with \\/ and \\u escapes).",
		Change: func(f *Forgery) { f.Over(php(f.Body)) },
	},
	{
		Signed: "over the body with &, < and > escaped",
		Likely: reserialised + "(with &, < and > escaped, as Go's json.Marshal and Rails do).",
		Change: func(f *Forgery) { f.Over(escapedHTML.Replace(f.Body)) },
	},
	{
		Signed: "with its timestamps in the other unit",
		Likely: "Your server reads a timestamp in the wrong unit: X-<Brand>-Timestamp is in milliseconds, " +
			"webhook-timestamp in seconds.",
		Change: func(f *Forgery) {
			f.Milliseconds, f.Seconds = f.Seconds, f.Milliseconds
			f.Over(f.Body)
		},
	},
	{
		Signed: "over its timestamps converted to the other unit",
		Likely: converted,
		Change: func(f *Forgery) {
			f.BrandText = f.Seconds + f.Body
			f.Text = f.ID + "." + f.Seconds + "000." + f.Body
		},
	},
	{
		Signed: "over its milliseconds converted to seconds with a fraction",
		Likely: converted,
		Change: func(f *Forgery) { // No language writes this fraction shorter.
			f.Milliseconds = f.Seconds + "001"
			f.BrandText = f.Seconds + ".001" + f.Body
			f.Text = f.ID + "." + f.Seconds + ".001." + f.Body
		},
	},
	{
		Signed: "over the timestamp, a dot and the body",
		Likely: "Your server puts a dot between timestamp and body. X-<Brand>-Signature has nothing between them; " +
			"webhook-signature has the id, a dot, the timestamp, a dot, the body.",
		Change: func(f *Forgery) {
			f.BrandText = f.Milliseconds + "." + f.Body
			f.Text = f.Seconds + "." + f.Body
		},
	},
	{
		Signed: "with the key of the other header",
		Likely: "Your server uses the wrong form of the secret as its key: X-<Brand>-Signature has the secret as " +
			"shown, whsec_ included; webhook-signature the base64 behind whsec_, decoded.",
		Change: func(f *Forgery) {
			f.BrandKey, f.Key = courier.StandardKey(f.Secrets.Brand), []byte(f.Secrets.Current)
		},
		when: standardForm,
	},
	{
		Signed: "with the secret without whsec_ as key",
		Likely: "Your server cuts whsec_ off the secret. X-<Brand>-Signature has the secret as shown, whsec_ " +
			"included; webhook-signature the base64 behind it, decoded.",
		Change: func(f *Forgery) { f.BrandKey, f.Key = bare(f.Secrets.Brand), bare(f.Secrets.Current) },
		when:   standardForm,
	},
	{
		Signed: "with each signature in the other's headers",
		Likely: "Your server looks for the signature in the wrong header. X-<Brand>-Signature and " +
			"X-<Brand>-Timestamp belong together, and so do webhook-signature, webhook-id and webhook-timestamp.",
		Change: func(f *Forgery) { f.Swapped = true },
	},
	{
		Signed: "with hex and base64 exchanged",
		Likely: "Your server writes the signature in the wrong way: X-<Brand>-Signature is lower-case hex, " +
			"webhook-signature is v1, and base64.",
		Change: func(f *Forgery) { f.BrandForm, f.Form = f.Form, f.BrandForm },
	},
	{
		Signed: "with the new secret where the old one signs until the overlap ends",
		Likely: "Your server has the new secret only. X-<Brand>-Signature is made by the old one until the overlap " +
			"ends: verify with both until then, or check webhook-signature, which has both.",
		Change: func(f *Forgery) { f.BrandKey = []byte(f.Secrets.Current) },
		when:   func(s courier.Secrets) bool { return s.Brand != s.Current },
	},
}

func standardForm(s courier.Secrets) bool { return strings.HasPrefix(s.Current, "whsec_") }

const reserialised = "Your server parses the body and writes it again before it computes the signature. Use the raw " +
	"bytes of the request; what is written again differs "

const converted = "Your server converts the timestamp before it computes the signature. Sign it as it was sent: " +
	"X-<Brand>-Timestamp in milliseconds, webhook-timestamp in seconds."

func bare(secret string) []byte { return []byte(strings.TrimPrefix(secret, "whsec_")) }

// escapedHTML escapes the characters that some JSON encoders escape.
var escapedHTML = strings.NewReplacer("&", `\u0026`, "<", `\u003c`, ">", `\u003e`)

// python returns a compact body as Python writes it: spaces after colons and commas, ASCII only.
func python(body string) string {
	return rewrite(body, func(r rune, inside bool) string {
		if !inside && (r == ',' || r == ':') {
			return string(r) + " "
		}
		return string(r)
	})
}

// php returns a compact body as PHP writes it: escaped slashes, ASCII only.
func php(body string) string {
	return rewrite(body, func(r rune, _ bool) string {
		if r == '/' {
			return `\/`
		}
		return string(r)
	})
}

// ascii returns a compact body with all non-ASCII characters escaped.
func ascii(body string) string {
	return rewrite(body, func(r rune, _ bool) string { return string(r) })
}

// rewrite writes compact JSON again, in ASCII. write gets each ASCII character and whether it is
// inside a string. The strings must not contain quotes.
func rewrite(body string, write func(r rune, inside bool) string) string {
	var b strings.Builder
	inside := false
	for _, r := range body {
		switch {
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		case r > 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			inside = inside != (r == '"')
			b.WriteString(write(r, inside))
		}
	}
	return b.String()
}
