package courier

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	defaultBrand = "Licensing"
	standard     = "whsec_" // prefix of a secret in the form of Standard Webhooks
)

// ContentType is the content type of a webhook.
const ContentType = "application/json; charset=UTF-8"

// The header names of Standard Webhooks, as sent.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// Secrets contains the signing secrets of a partner. Those of NewSecrets sign faster than literals.
type Secrets struct {
	Current  string
	Previous string // "" outside a rotation's overlap
	Brand    string // for X-<Brand>-Signature; "": the previous one if there is one
	keys     *keys
}

// NewSecrets returns the Secrets for a partner's valid secrets, the newest first. With two, the
// older one makes the brand's signature until the overlap ends.
func NewSecrets(newestFirst ...string) Secrets {
	var s Secrets
	if len(newestFirst) > 0 {
		s.Current = newestFirst[0]
	}
	if len(newestFirst) > 1 {
		s.Previous = newestFirst[1]
	}
	s.Brand = cmp.Or(s.Previous, s.Current)
	s.keys = s.derive()
	return s
}

// keys contains the secrets prepared for signing.
type keys struct{ current, previous, brand *key }

func (s Secrets) derive() *keys {
	k := &keys{current: newKey(StandardKey(s.Current)), brand: newKey([]byte(cmp.Or(s.Brand, s.Previous, s.Current)))}
	if s.Previous != "" {
		k.previous = newKey(StandardKey(s.Previous))
	}
	return k
}

// StandardKey returns the key of a secret for Standard Webhooks: the decoded base64 after whsec_,
// or the bytes of any other secret. For X-<Brand>-Signature the key is always the secret's bytes as
// shown.
func StandardKey(secret string) []byte {
	if text, ok := strings.CutPrefix(secret, standard); ok {
		if raw, err := base64.StdEncoding.DecodeString(text); err == nil {
			return raw
		}
	}
	return []byte(secret)
}

// key signs with HMAC-SHA256. It reuses the state computed from the key, which halves the work for
// bodies as short as ours.
type key struct{ macs sync.Pool }

func newKey(bytes []byte) *key {
	k := &key{}
	k.macs.New = func() any { return hmac.New(sha256.New, bytes) }
	return k
}

// sign appends the HMAC of head and body to sum.
func (k *key) sign(sum, head, body []byte) []byte {
	mac := k.macs.Get().(hash.Hash)
	defer k.macs.Put(mac)
	mac.Reset()
	_, _ = mac.Write(head) // a hash never fails
	_, _ = mac.Write(body)
	return mac.Sum(sum)
}

// Signer makes the headers of a partner's webhooks.
type Signer struct {
	Brand     string // "": Licensing
	UserAgent string // "": the client's default
}

// TimestampHeader returns the name of the brand's header with the time in milliseconds.
func (s Signer) TimestampHeader() string { return s.named("-Timestamp") }

// SignatureHeader returns the name of the brand's signature header.
func (s Signer) SignatureHeader() string { return s.named("-Signature") }

func (s Signer) named(end string) string { return "X-" + cmp.Or(s.Brand, defaultBrand) + end }

// Signed contains the two signed texts of a webhook.
type Signed struct {
	Standard string // for webhook-signature: id, timestamp in seconds and body, with dots between
	Brand    string // for X-<Brand>-Signature: timestamp in milliseconds and body, with nothing between
}

// Texts returns the texts that Headers signs.
func Texts(eventID int64, at time.Time, body []byte) Signed {
	return Signed{
		Standard: string(appendID(nil, eventID)) + "." + strconv.FormatInt(at.Unix(), 10) + "." + string(body),
		Brand:    strconv.FormatInt(at.UnixMilli(), 10) + string(body),
	}
}

// appendID appends the message id, which is the same on every attempt.
func appendID(b []byte, eventID int64) []byte {
	return strconv.AppendInt(append(b, "evt_"...), eventID, 10)
}

// headerBuffer is a buffer for the headers of one webhook.
type headerBuffer struct {
	b   []byte
	sum [sha256.Size]byte
}

var headerBuffers = sync.Pool{New: func() any { return &headerBuffer{b: make([]byte, 0, 512)} }}

// Headers returns the headers of one attempt, signed for its time. Names are spelled as in the
// documentation, because some partners' platforms pass them on unchanged. http.Header.Get does not
// find names that are not canonical, so read the received headers and not these.
func (s Signer) Headers(eventID int64, attempt int, at time.Time, secrets Secrets, body []byte) http.Header {
	keys := secrets.keys
	if keys == nil {
		keys = secrets.derive()
	}
	p := headerBuffers.Get().(*headerBuffer)
	defer headerBuffers.Put(p)
	// All names and values are substrings of one string, which saves eight allocations.
	var ends [9]int
	b := append(append(append(p.b[:0], "X-"...), cmp.Or(s.Brand, defaultBrand)...), '-')
	stem := len(b)
	b = append(b, "Timestamp"...)
	ends[0] = len(b)
	b = append(append(b, b[:stem]...), "Signature"...)
	ends[1] = len(b)
	b = append(append(b, b[:stem]...), "Attempt"...)
	ends[2] = len(b)
	b = append(appendID(b, eventID), '.')
	ends[3] = len(b)
	b = append(strconv.AppendInt(b, at.Unix(), 10), '.')
	ends[4] = len(b)
	b = p.standard(b, ends[2], keys, body)
	ends[5] = len(b)
	b = strconv.AppendInt(b, at.UnixMilli(), 10)
	ends[6] = len(b)
	b = hex.AppendEncode(b, keys.brand.sign(p.sum[:0], b[ends[5]:], body))
	ends[7] = len(b)
	b = strconv.AppendInt(b, int64(attempt), 10)
	p.b = b
	text := string(b)
	values := []string{
		text[ends[2] : ends[3]-1], text[ends[3] : ends[4]-1], text[ends[4]:ends[5]],
		text[ends[5]:ends[6]], text[ends[6]:ends[7]], text[ends[7]:], ContentType, s.UserAgent,
	}
	h := make(http.Header, 8)
	h[HeaderID], h[HeaderTimestamp], h[HeaderSignature] = values[0:1:1], values[1:2:2], values[2:3:3]
	h[text[:ends[0]]], h[text[ends[0]:ends[1]]], h[text[ends[1]:ends[2]]] = values[3:4:4], values[4:5:5], values[5:6:6]
	h["Content-Type"] = values[6:7:7]
	if s.UserAgent != "" {
		h["User-Agent"] = values[7:8:8]
	}
	return h
}

// standard appends the signatures of Standard Webhooks; from is the start in b of the text before
// the body.
func (p *headerBuffer) standard(b []byte, from int, k *keys, body []byte) []byte {
	head := b[from:]
	b = base64.StdEncoding.AppendEncode(append(b, "v1,"...), k.current.sign(p.sum[:0], head, body))
	if k.previous != nil {
		b = base64.StdEncoding.AppendEncode(append(b, " v1,"...), k.previous.sign(p.sum[:0], head, body))
	}
	return b
}
