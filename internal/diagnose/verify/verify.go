// Package verify examines a webhook as a partner's server received it: whether it is ours, and which
// part is wrong if it does not verify.
package verify

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/fault"
)

// ClockTolerance is the maximum difference between the timestamp of a post and the receiver's
// clock.
const ClockTolerance = 5 * time.Minute

// MaxPasted is the maximum size in bytes of a body, and of headers, for Webhook: it tries many ways
// to sign them.
const MaxPasted = 16 << 10

// Received is a webhook as a partner's server saw it, with the results of its code.
type Received struct {
	Header http.Header
	Body   []byte
	At     time.Time // zero: unknown

	Computed string // signature computed by the code; "": unknown
	Secret   string // secret used by the code; "": unknown

	Sent []byte // body that we sent for this event, if stored; nil: unknown
}

// Part is a possible cause of a failed verification.
type Part string

// The parts.
const (
	PartHeader Part = "header"
	PartBytes  Part = "bytes"
	PartSecret Part = "secret"
	PartClock  Part = "clock"
	PartCode   Part = "code" // signature computed by the receiver's code
)

// State is the result for a part.
type State string

// The states.
const (
	Right   State = "right"
	Wrong   State = "wrong"
	Unclear State = "unclear" // not enough data
)

// Finding is the result for one part, with advice.
type Finding struct {
	Part  Part
	State State
	Text  string
	Do    string // "" if there is nothing to do
}

// Result is the result of a check. It never contains a signature or a secret, because its readers
// could sign webhooks with them.
type Result struct {
	Genuine  bool // the signature is ours, over these bytes
	Findings []Finding
	Signed   courier.Signed // the texts to sign, made from the input
}

// Texts returns the texts to sign with the names of their signature headers.
func (v Result) Texts(s courier.Signer) []fault.Signature {
	return diagnose.Signatures(s, v.Signed)
}

// check is a running verification.
type check struct {
	Received
	signer  courier.Signer
	secrets courier.Secrets

	brandTime, seconds, id string // the headers
	brand                  []byte // decoded signatures in the headers; nil: missing or malformed
	standard               [][]byte
	findings               []Finding
}

// Webhook reports whether a webhook is ours, and if it does not verify, which part is wrong.
func Webhook(s courier.Signer, r Received, secrets courier.Secrets) Result {
	c := &check{Received: r, signer: s, secrets: secrets}
	c.brandTime = r.Header.Get(s.TimestampHeader())
	c.id, c.seconds = r.Header.Get(courier.HeaderID), r.Header.Get(courier.HeaderTimestamp)
	headers := c.headers()
	by := c.signedBy(string(r.Body), c.brandTime, c.seconds)
	var v Result
	v.Genuine = by != ""
	bytes, by := c.bytes(by)
	if headers.State == Right && c.timesDiffer() {
		headers = wrong(PartHeader, "the two timestamps are of different posts", "Copy all headers of one request.")
	}
	c.findings = append(c.findings, c.converted(headers, v.Genuine || by != ""), bytes, c.secret(by), c.clock())
	if r.Computed != "" {
		c.findings = append(c.findings, c.computed())
	}
	v.Findings = c.findings
	v.Signed = courier.Signed{
		Brand: c.brandTime + string(r.Body), Standard: c.id + "." + c.seconds + "." + string(r.Body),
	}
	return v
}

func right(p Part, text string) Finding       { return Finding{p, Right, text, ""} }
func wrong(p Part, text, do string) Finding   { return Finding{p, Wrong, text, do} }
func unclear(p Part, text, do string) Finding { return Finding{p, Unclear, text, do} }

// headers reads the signatures in the headers and reports errors in them.
func (c *check) headers() Finding {
	brand := c.Header.Get(c.signer.SignatureHeader())
	standard := c.Header.Get(courier.HeaderSignature)
	if brand == "" && standard == "" {
		return c.noSignature()
	}
	var problems []Finding
	if brand != "" {
		raw, problem := readBrand(c.signer, brand)
		c.brand = raw
		if problem == "" && c.brandTime == "" {
			problem = c.signer.TimestampHeader() + " is missing, which belongs to " + c.signer.SignatureHeader()
		}
		if problem != "" {
			problems = append(
				problems,
				wrong(
					PartHeader, problem,
					"Copy the headers as your server received them, before any code changes them.",
				),
			)
		}
	}
	if standard != "" {
		list, problem := readStandard(standard)
		c.standard = list
		if problem == "" && (c.id == "" || c.seconds == "") {
			problem = courier.HeaderID + " or " + courier.HeaderTimestamp + " is missing, which belong to " +
				courier.HeaderSignature
		}
		if problem != "" {
			problems = append(
				problems,
				wrong(
					PartHeader, problem,
					"Copy the headers as your server received them, before any code changes them.",
				),
			)
		}
	}
	if len(problems) > 0 {
		return problems[0]
	}
	return right(PartHeader, "the names and the form of the headers are right")
}

// noSignature reports a header found in place of the signature.
func (c *check) noSignature() Finding {
	do := fmt.Sprintf("Look for %s with %s, or for %s with %s and %s; letter case does not matter.",
		c.signer.SignatureHeader(), c.signer.TimestampHeader(), courier.HeaderSignature, courier.HeaderID,
		courier.HeaderTimestamp)
	for _, name := range slices.Sorted(maps.Keys(c.Header)) {
		lower := strings.ToLower(name)
		if !strings.Contains(lower, "signature") {
			continue
		}
		c.brand, _ = readBrand(c.signer, c.Header.Get(name))
		if stem, ok := strings.CutSuffix(lower, "signature"); ok && c.brandTime == "" {
			c.brandTime = c.Header.Get(stem + "timestamp")
		}
		return wrong(
			PartHeader,
			fmt.Sprintf(
				"the signature is in %s, and we send it in %s: the brand in the name is another, or something "+
					"renamed it",
				courier.Clean(name, 80), c.signer.SignatureHeader(),
			),
			do,
		)
	}
	return wrong(PartHeader, "there is no signature among the headers", do)
}

// readBrand decodes a hex signature, and reports errors in its form.
func readBrand(s courier.Signer, text string) (raw []byte, problem string) {
	plain := strings.ToLower(bareSignature(text))
	raw, err := hex.DecodeString(plain)
	switch {
	case err == nil && len(raw) == 32 && plain != text:
		return raw, "the value of " + s.SignatureHeader() +
			" was changed: it is 64 lower-case hex digits and nothing else"
	case err == nil && len(raw) == 32:
		return raw, ""
	case strings.HasPrefix(text, "v1,"):
		return nil, "the value of " + s.SignatureHeader() + " is that of " + courier.HeaderSignature
	}
	if b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text)); err == nil && len(b) == 32 {
		return b, "the value of " + s.SignatureHeader() + " is base64, and we send lower-case hex"
	}
	return nil, "the value of " + s.SignatureHeader() + " is no signature: it has 64 lower-case hex digits; was it cut?"
}

// readStandard does the same for the signatures of Standard Webhooks.
func readStandard(text string) (list [][]byte, problem string) {
	for field := range strings.FieldsSeq(text) {
		value, ok := strings.CutPrefix(field, "v1,")
		if raw, err := base64.StdEncoding.DecodeString(value); ok && err == nil && len(raw) == 32 {
			list = append(list, raw)
		}
	}
	if len(list) == 0 {
		return nil, "the value of " + courier.HeaderSignature +
			" is no signature: it is v1, and base64; was it cut, or is it that of the other header?"
	}
	return list, ""
}

// signedBy returns which secret made a signature in the headers over this body: "current", "old",
// or "" for none.
func (c *check) signedBy(body, ms, seconds string) string {
	for _, one := range []struct{ name, secret string }{{"current", c.secrets.Current}, {"old", c.secrets.Previous}} {
		if one.secret == "" {
			continue
		}
		if c.brand != nil && hmac.Equal(c.brand, diagnose.MAC([]byte(one.secret), ms+body)) {
			return one.name
		}
		if c.standard == nil {
			continue
		}
		sum := diagnose.MAC(courier.StandardKey(one.secret), c.id+"."+seconds+"."+body)
		for _, raw := range c.standard {
			if hmac.Equal(raw, sum) {
				return one.name
			}
		}
	}
	return ""
}

// bytes reports whether the body is the signed one. It also returns the secret that signed, if now
// known.
func (c *check) bytes(by string) (Finding, string) {
	if by != "" {
		return right(PartBytes, "these are the bytes that we signed"), by
	}
	const raw = "Verify the raw bytes of the request, before a framework parses them."
	text := string(c.Body)
	for _, r := range restorations {
		if restored, ok := r.undo(text); ok && restored != text {
			if by := c.signedBy(restored, c.brandTime, c.seconds); by != "" {
				return wrong(PartBytes, "these are not the bytes that we signed: "+r.changed, raw), by
			}
		}
	}
	if c.Sent != nil && !bytes.Equal(c.Sent, c.Body) {
		return wrong(PartBytes, difference(string(c.Sent), text), raw), c.signedBy(
			string(c.Sent), c.brandTime, c.seconds,
		)
	}
	if c.Sent != nil {
		return right(PartBytes, "these are the bytes that we sent for this event"), ""
	}
	if by := c.signedByOtherTime(text); by != "" {
		return right(PartBytes, "these are the bytes that we signed"), by
	}
	return unclear(PartBytes, "no secret of yours signed these bytes; we cannot tell whether the bytes, the "+
		"timestamp or the secret is another", raw), ""
}

// signedByOtherTime is signedBy for converted timestamps.
func (c *check) signedByOtherTime(body string) string {
	ms, _ := strconv.ParseInt(c.brandTime, 10, 64)
	if ms == 0 || ms > 1e11 {
		return ""
	}
	// Only whole seconds are left: try all possible milliseconds.
	brand := &check{signer: c.signer, secrets: c.secrets, brand: c.brand}
	for i := range int64(1000) {
		if by := brand.signedBy(body, strconv.FormatInt(ms*1000+i, 10), ""); by != "" {
			return by
		}
	}
	return ""
}

// converted reports a timestamp that is in another unit than it was sent in.
func (c *check) converted(f Finding, known bool) Finding {
	ms, err := strconv.ParseInt(c.brandTime, 10, 64)
	switch {
	case f.State == Wrong || c.brandTime == "":
	case err != nil:
		return wrong(
			PartHeader, c.signer.TimestampHeader()+" is no number",
			"Sign the header as it came: milliseconds, digits only.",
		)
	case ms < 1e11:
		return wrong(
			PartHeader, c.signer.TimestampHeader()+" is in seconds, and we send milliseconds: something converted it",
			"Sign the header as it came.",
		)
	case c.seconds != "" && len(c.seconds) > 11:
		return wrong(
			PartHeader, courier.HeaderTimestamp+" is in milliseconds, and we send seconds: something converted it",
			"Sign the header as it came.",
		)
	case !known && c.brand == nil && c.standard == nil:
		return unclear(PartHeader, f.Text, f.Do)
	}
	return f
}

// timesDiffer reports whether the two timestamps cannot belong to one post.
func (c *check) timesDiffer() bool {
	ms, err := strconv.ParseInt(c.brandTime, 10, 64)
	seconds, err2 := strconv.ParseInt(c.seconds, 10, 64)
	return err == nil && err2 == nil && ms > 1e11 && seconds < 1e11 && ms/1000 != seconds
}

// difference describes the first difference of two bodies.
func difference(sent, got string) string {
	at := 0
	for at < len(sent) && at < len(got) && sent[at] == got[at] {
		at++
	}
	around := func(s string) string {
		from := max(0, at-12)
		to := min(len(s), at+20)
		return "“" + courier.Clean(s[min(from, len(s)):to], 64) + "”"
	}
	if at == len(got) {
		return fmt.Sprintf("these are not the bytes that we sent: the body was cut after %d of %d bytes", at, len(sent))
	}
	if at == len(sent) {
		return fmt.Sprintf("these are not the bytes that we sent: %d bytes were added at the end", len(got)-len(sent))
	}
	return fmt.Sprintf(
		"these are not the bytes that we sent: byte %d is the first that differs; we sent %s, this has %s", at+1,
		around(sent), around(got),
	)
}

// stamp returns the time of the signature from the headers.
func (c *check) stamp() (time.Time, bool) {
	return ParseMoment(cmp.Or(c.brandTime, c.seconds))
}
