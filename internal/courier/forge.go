package courier

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Forgery is how the signatures of a webhook are made. NewForgery makes right ones; each
// common mistake, and each attack that a partner must refuse, changes it.
type Forgery struct {
	ID, Body              string
	Milliseconds, Seconds string // the timestamps that are sent
	BrandKey, Key         []byte
	BrandText, Text       string
	BrandForm, Form       func([]byte) string
	Secrets               Secrets
	Swapped               bool // each signature is in the other's headers

	// Add puts further headers beside those of the signatures; nil: none.
	Add func(header map[string][]string)
}

// NewForgery is the way in which we sign.
func NewForgery(eventID int64, at time.Time, secrets Secrets, body []byte) *Forgery {
	f := &Forgery{
		ID: string(appendID(nil, eventID)), Body: string(body),
		Milliseconds: strconv.FormatInt(at.UnixMilli(), 10), Seconds: strconv.FormatInt(at.Unix(), 10),
		BrandKey: []byte(cmp.Or(secrets.Brand, secrets.Previous, secrets.Current)), Key: StandardKey(secrets.Current),
		BrandForm: hex.EncodeToString, Form: base64.StdEncoding.EncodeToString, Secrets: secrets,
	}
	f.Over(f.Body)
	return f
}

// Over makes the texts to sign of the timestamps and a body.
func (f *Forgery) Over(body string) {
	f.BrandText = f.Milliseconds + body
	f.Text = f.ID + "." + f.Seconds + "." + body
}

// Signatures are the two signatures: that of X-<Brand>-Signature and that of
// webhook-signature.
func (f *Forgery) Signatures() (brand, standard string) {
	return f.BrandForm(code(f.BrandKey, f.BrandText)), "v1," + f.Form(code(f.Key, f.Text))
}

// Forge signs a webhook in another way than ours: it replaces the signatures and
// timestamps in header, which Headers made, and returns the texts that were signed.
func (s Signer) Forge(header map[string][]string, f *Forgery) Signed {
	brand, standard := f.Signatures()
	header[s.TimestampHeader()] = []string{f.Milliseconds}
	header[s.SignatureHeader()] = []string{brand}
	header[HeaderTimestamp] = []string{f.Seconds}
	header[HeaderSignature] = []string{standard}
	if f.Add != nil {
		f.Add(header)
	}
	if f.Swapped {
		swap(header, s.TimestampHeader(), HeaderTimestamp)
		swap(header, s.SignatureHeader(), HeaderSignature)
	}
	return Signed{Standard: f.Text, Brand: f.BrandText}
}

func swap(header map[string][]string, a, b string) { header[a], header[b] = header[b], header[a] }

func code(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(text)) // a hash never fails
	return mac.Sum(nil)
}

// WithBrand puts the partner's header names into a text about X-<Brand>-….
func (s Signer) WithBrand(text string) string {
	return strings.ReplaceAll(text, "<Brand>", cmp.Or(s.Brand, defaultBrand))
}
