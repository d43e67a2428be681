package diagnose

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"claviger/internal/courier"
)

// Forgery defines how the signatures of a webhook are made. NewForgery makes correct ones; each
// common mistake, and each attack that a partner must reject, changes it.
type Forgery struct {
	ID, Body              string
	Milliseconds, Seconds string // timestamps as sent
	BrandKey, Key         []byte
	BrandText, Text       string
	BrandForm, Form       func([]byte) string
	Secrets               courier.Secrets
	Swapped               bool // each signature is in the other's headers
	Unsigned              bool // there are no signatures

	// Add adds further headers beside those of the signatures; nil: none.
	Add func(header map[string][]string)
}

// NewForgery returns our own way of signing.
func NewForgery(eventID int64, at time.Time, secrets courier.Secrets, body []byte) *Forgery {
	f := &Forgery{
		ID: "evt_" + strconv.FormatInt(eventID, 10), Body: string(body),
		Milliseconds: strconv.FormatInt(at.UnixMilli(), 10), Seconds: strconv.FormatInt(at.Unix(), 10),
		BrandKey:  []byte(cmp.Or(secrets.Brand, secrets.Previous, secrets.Current)),
		Key:       courier.StandardKey(secrets.Current),
		BrandForm: hex.EncodeToString, Form: base64.StdEncoding.EncodeToString, Secrets: secrets,
	}
	f.Over(f.Body)
	return f
}

// Over builds the texts to sign from the timestamps and a body.
func (f *Forgery) Over(body string) {
	f.BrandText = f.Milliseconds + body
	f.Text = f.ID + "." + f.Seconds + "." + body
}

// Signatures returns the values of X-<Brand>-Signature and webhook-signature.
func (f *Forgery) Signatures() (brand, standard string) {
	return f.BrandForm(MAC(f.BrandKey, f.BrandText)), "v1," + f.Form(MAC(f.Key, f.Text))
}

// Sign replaces the signatures and timestamps in header, made by Headers, and returns the signed
// texts, none if it leaves the signatures out.
func (f *Forgery) Sign(s courier.Signer, header map[string][]string) courier.Signed {
	if f.Unsigned {
		delete(header, courier.HeaderSignature)
		delete(header, s.SignatureHeader())
		return courier.Signed{}
	}
	brand, standard := f.Signatures()
	header[s.TimestampHeader()] = []string{f.Milliseconds}
	header[s.SignatureHeader()] = []string{brand}
	header[courier.HeaderTimestamp] = []string{f.Seconds}
	header[courier.HeaderSignature] = []string{standard}
	if f.Add != nil {
		f.Add(header)
	}
	if f.Swapped {
		swap(header, s.TimestampHeader(), courier.HeaderTimestamp)
		swap(header, s.SignatureHeader(), courier.HeaderSignature)
	}
	return courier.Signed{Standard: f.Text, Brand: f.BrandText}
}

func swap(header map[string][]string, a, b string) { header[a], header[b] = header[b], header[a] }

// MAC returns the HMAC-SHA256 of a text.
func MAC(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(text)) // a hash never fails
	return mac.Sum(nil)
}

// WithBrand puts the partner's brand into a text about X-<Brand>-….
func WithBrand(s courier.Signer, text string) string {
	return strings.ReplaceAll(text, "X-<Brand>-", strings.TrimSuffix(s.SignatureHeader(), "Signature"))
}
