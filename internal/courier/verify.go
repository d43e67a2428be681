package courier

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

	"claviger/internal/fault"
)

// ClockTolerance is how far the timestamp of a post may be from the receiver's clock.
const ClockTolerance = 5 * time.Minute

// MaxPasted is how many bytes of a body, and of headers, Verify is meant for: it tries
// many ways to sign them.
const MaxPasted = 16 << 10

// Received is a webhook as somebody's server saw it, and what its code made of it.
type Received struct {
	Header http.Header
	Body   []byte
	At     time.Time // when it was received; zero: not known

	Computed string // the signature that the code computed; "": not known
	Secret   string // the secret that the code uses; "": not known

	Sent []byte // the body that we sent for this event, where it is stored; nil: not known
}

// Part is what can be wrong about a webhook that does not verify.
type Part string

// The parts.
const (
	PartHeader Part = "header"
	PartBytes  Part = "bytes"
	PartSecret Part = "secret"
	PartClock  Part = "clock"
	PartCode   Part = "code" // what the receiver's code computes
)

// State says how a part was found.
type State string

// The states.
const (
	Right   State = "right"
	Wrong   State = "wrong"
	Unclear State = "unclear" // what was given does not tell
)

// Finding is what is known about one part, and what to do about it.
type Finding struct {
	Part  Part
	State State
	Text  string
	Do    string // "" if there is nothing to do
}

// Verification is what became of a check. It never has a signature or a secret in it:
// whoever may read it could sign webhooks with them.
type Verification struct {
	Genuine  bool // the signature is ours, over these bytes
	Findings []Finding
	Signed   Signed // the texts to sign, made of what was given
}

// Texts are the texts to sign with the headers that have their signatures.
func (v Verification) Texts(s Signer) []fault.Signature {
	return []fault.Signature{{Header: s.SignatureHeader(), Text: v.Signed.Brand}, {Header: HeaderSignature, Text: v.Signed.Standard}}
}

// check is one verification under way.
type check struct {
	Received
	signer  Signer
	secrets Secrets

	brandTime, seconds, id string // the headers
	brand                  []byte // the signatures in the headers, decoded; nil: missing or not readable
	standard               [][]byte
	findings               []Finding
}

// Verify says whether a webhook is ours, and if it does not verify, which part of it is
// wrong.
func (s Signer) Verify(r Received, secrets Secrets) Verification {
	c := &check{Received: r, signer: s, secrets: secrets}
	c.brandTime = r.Header.Get(s.TimestampHeader())
	c.id, c.seconds = r.Header.Get(HeaderID), r.Header.Get(HeaderTimestamp)
	headers := c.headers()
	by := c.signedBy(string(r.Body), c.brandTime, c.seconds)
	var v Verification
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
	v.Signed = Signed{Brand: c.brandTime + string(r.Body), Standard: c.id + "." + c.seconds + "." + string(r.Body)}
	return v
}

func right(p Part, text string) Finding       { return Finding{p, Right, text, ""} }
func wrong(p Part, text, do string) Finding   { return Finding{p, Wrong, text, do} }
func unclear(p Part, text, do string) Finding { return Finding{p, Unclear, text, do} }

// headers reads the signatures of the headers and says what is wrong with them.
func (c *check) headers() Finding {
	brand, standard := c.Header.Get(c.signer.SignatureHeader()), c.Header.Get(HeaderSignature)
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
			problems = append(problems, wrong(PartHeader, problem, "Copy the headers as your server received them, before any code changes them."))
		}
	}
	if standard != "" {
		list, problem := readStandard(standard)
		c.standard = list
		if problem == "" && (c.id == "" || c.seconds == "") {
			problem = HeaderID + " or " + HeaderTimestamp + " is missing, which belong to " + HeaderSignature
		}
		if problem != "" {
			problems = append(problems, wrong(PartHeader, problem, "Copy the headers as your server received them, before any code changes them."))
		}
	}
	if len(problems) > 0 {
		return problems[0]
	}
	return right(PartHeader, "the names and the form of the headers are right")
}

// noSignature says what is there instead of a signature.
func (c *check) noSignature() Finding {
	do := fmt.Sprintf("Look for %s with %s, or for %s with %s and %s; letter case does not matter.",
		c.signer.SignatureHeader(), c.signer.TimestampHeader(), HeaderSignature, HeaderID, HeaderTimestamp)
	for _, name := range slices.Sorted(maps.Keys(c.Header)) {
		lower := strings.ToLower(name)
		if !strings.Contains(lower, "signature") {
			continue
		}
		c.brand, _ = readBrand(c.signer, c.Header.Get(name))
		if stem, ok := strings.CutSuffix(lower, "signature"); ok && c.brandTime == "" {
			c.brandTime = c.Header.Get(stem + "timestamp")
		}
		return wrong(PartHeader, fmt.Sprintf("the signature is in %s, and we send it in %s: the brand in the name is another, or something renamed it", Clean(name, 80), c.signer.SignatureHeader()), do)
	}
	return wrong(PartHeader, "there is no signature among the headers", do)
}

// readBrand decodes a signature in hex, and says what is wrong with how it is written.
func readBrand(s Signer, text string) (raw []byte, problem string) {
	plain := strings.ToLower(bareSignature(text))
	raw, err := hex.DecodeString(plain)
	switch {
	case err == nil && len(raw) == 32 && plain != text:
		return raw, "the value of " + s.SignatureHeader() + " was changed: it is 64 lower-case hex digits and nothing else"
	case err == nil && len(raw) == 32:
		return raw, ""
	case strings.HasPrefix(text, "v1,"):
		return nil, "the value of " + s.SignatureHeader() + " is that of " + HeaderSignature
	}
	if b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text)); err == nil && len(b) == 32 {
		return b, "the value of " + s.SignatureHeader() + " is base64, and we send lower-case hex"
	}
	return nil, "the value of " + s.SignatureHeader() + " is no signature: it has 64 lower-case hex digits; was it cut?"
}

// readStandard decodes the signatures of Standard Webhooks, likewise.
func readStandard(text string) (list [][]byte, problem string) {
	for field := range strings.FieldsSeq(text) {
		value, ok := strings.CutPrefix(field, "v1,")
		if raw, err := base64.StdEncoding.DecodeString(value); ok && err == nil && len(raw) == 32 {
			list = append(list, raw)
		}
	}
	if len(list) == 0 {
		return nil, "the value of " + HeaderSignature + " is no signature: it is v1, and base64; was it cut, or is it that of the other header?"
	}
	return list, ""
}

// signedBy says which secret made a signature of the headers over that body: "current",
// "old", or "" for none.
func (c *check) signedBy(body, ms, seconds string) string {
	for _, one := range []struct{ name, secret string }{{"current", c.secrets.Current}, {"old", c.secrets.Previous}} {
		if one.secret == "" {
			continue
		}
		if c.brand != nil && hmac.Equal(c.brand, code([]byte(one.secret), ms+body)) {
			return one.name
		}
		if c.standard == nil {
			continue
		}
		sum := code(StandardKey(one.secret), c.id+"."+seconds+"."+body)
		for _, raw := range c.standard {
			if hmac.Equal(raw, sum) {
				return one.name
			}
		}
	}
	return ""
}

// bytes says whether the body is the one that was signed. It returns which secret
// signed, if that is known now.
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
		return wrong(PartBytes, difference(string(c.Sent), text), raw), c.signedBy(string(c.Sent), c.brandTime, c.seconds)
	}
	if c.Sent != nil {
		return right(PartBytes, "these are the bytes that we sent for this event"), ""
	}
	if by := c.signedByOtherTime(text); by != "" {
		return right(PartBytes, "these are the bytes that we signed"), by
	}
	return unclear(PartBytes, "no secret of yours signed these bytes; we cannot tell whether the bytes, the timestamp or the secret is another", raw), ""
}

// signedByOtherTime is signedBy for timestamps that were converted.
func (c *check) signedByOtherTime(body string) string {
	ms, _ := strconv.ParseInt(c.brandTime, 10, 64)
	if ms == 0 || ms > 1e11 {
		return ""
	}
	// Only whole seconds are left of the milliseconds: try those that it may have been.
	brand := &check{signer: c.signer, secrets: c.secrets, brand: c.brand}
	for i := range int64(1000) {
		if by := brand.signedBy(body, strconv.FormatInt(ms*1000+i, 10), ""); by != "" {
			return by
		}
	}
	return ""
}

// converted says that a timestamp is in another unit than it was sent in.
func (c *check) converted(f Finding, known bool) Finding {
	ms, err := strconv.ParseInt(c.brandTime, 10, 64)
	switch {
	case f.State == Wrong || c.brandTime == "":
	case err != nil:
		return wrong(PartHeader, c.signer.TimestampHeader()+" is no number", "Sign the header as it came: milliseconds, digits only.")
	case ms < 1e11:
		return wrong(PartHeader, c.signer.TimestampHeader()+" is in seconds, and we send milliseconds: something converted it", "Sign the header as it came.")
	case c.seconds != "" && len(c.seconds) > 11:
		return wrong(PartHeader, HeaderTimestamp+" is in milliseconds, and we send seconds: something converted it", "Sign the header as it came.")
	case !known && c.brand == nil && c.standard == nil:
		return unclear(PartHeader, f.Text, f.Do)
	}
	return f
}

// timesDiffer reports whether the two timestamps cannot be of one post.
func (c *check) timesDiffer() bool {
	ms, err := strconv.ParseInt(c.brandTime, 10, 64)
	seconds, err2 := strconv.ParseInt(c.seconds, 10, 64)
	return err == nil && err2 == nil && ms > 1e11 && seconds < 1e11 && ms/1000 != seconds
}

// difference says where two bodies begin to differ.
func difference(sent, got string) string {
	at := 0
	for at < len(sent) && at < len(got) && sent[at] == got[at] {
		at++
	}
	around := func(s string) string {
		from, to := max(0, at-12), min(len(s), at+20)
		return "“" + Clean(s[min(from, len(s)):to], 64) + "”"
	}
	if at == len(got) {
		return fmt.Sprintf("these are not the bytes that we sent: the body was cut after %d of %d bytes", at, len(sent))
	}
	if at == len(sent) {
		return fmt.Sprintf("these are not the bytes that we sent: %d bytes were added at the end", len(got)-len(sent))
	}
	return fmt.Sprintf("these are not the bytes that we sent: byte %d is the first that differs; we sent %s, this has %s", at+1, around(sent), around(got))
}

// stamp is when the post was signed, by its headers.
func (c *check) stamp() (time.Time, bool) {
	return ParseMoment(cmp.Or(c.brandTime, c.seconds))
}
