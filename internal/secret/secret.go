// Package secret makes, hashes, compares and seals opaque secrets: API keys,
// codes, tokens, client secrets, webhook secrets. It stores nothing.
//
// What we only ever compare is kept as a hash. Our secrets carry 256 random
// bits, so a plain SHA-256 is enough and a slow hash would only cost time;
// people's passwords are another matter and live in package account.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// KeySize is the length in bytes of the key a Sealer is made from.
const KeySize = 32

// Make returns a new secret of 256 random bits in lower-case hex, behind prefix.
func Make(prefix string) string {
	return prefix + hex.EncodeToString(random(32))
}

// MakeWebhook returns a new webhook secret in the form that Standard Webhooks
// gives it: whsec_ and the base64 of 32 bytes.
func MakeWebhook() string {
	return string(WebhookSecret) + base64.StdEncoding.EncodeToString(random(32))
}

// UUID returns a random (version 4) UUID in its usual form.
func UUID() string { return uuid(random(16), 4) }

// TimeUUID returns a UUID that begins with a time in milliseconds (version 7) and
// has 74 random bits after it. Keys of one time lie side by side in an index.
func TimeUUID(at time.Time) string {
	b := random(16)
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli())) //nolint:gosec // after 1970
	copy(b, ms[2:])
	return uuid(b, 7)
}

// uuid writes 16 bytes as a UUID of a version.
func uuid(b []byte, version byte) string {
	b[6] = b[6]&0x0f | version<<4
	b[8] = b[8]&0x3f | 0x80
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:], b[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// random cannot fail: crypto/rand ends the program when the system has no
// randomness to give.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

// Hash is the form in which a random secret is stored and looked up.
func Hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Equal compares two secrets, or two hashes, in constant time.
func Equal(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// Sealer seals what we must be able to read again and peppers what we need not.
type Sealer struct {
	opens  []cipher.AEAD // what is stored; the first seals
	pepper []byte
}

// NewSealer makes a Sealer from the installation's secret key of KeySize bytes. What was
// sealed with one of the other keys opens, too. The pepper is derived from the key until
// WithPepper sets the one that is stored.
func NewSealer(key []byte, others ...[]byte) (*Sealer, error) {
	b := &Sealer{}
	for _, k := range append([][]byte{key}, others...) {
		aead, err := newAEAD(k)
		if err != nil {
			return nil, err
		}
		b.opens = append(b.opens, aead)
	}
	pepper, err := hkdf.Key(sha256.New, key, nil, "claviger pepper v1", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the pepper: %w", err)
	}
	b.pepper = pepper
	return b, nil
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	if len(key) != KeySize {
		return nil, fmt.Errorf("the secret key has %d bytes, not %d", len(key), KeySize)
	}
	sealing, err := hkdf.Key(sha256.New, key, nil, "claviger seal v1", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the sealing key: %w", err)
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return nil, fmt.Errorf("make the cipher: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("make the cipher mode: %w", err)
	}
	return aead, nil
}

// PepperText is the pepper as it is stored, sealed.
func (b *Sealer) PepperText() string { return hex.EncodeToString(b.pepper) }

// WithPepper is the Sealer with the pepper that is stored, which outlives every key.
func (b *Sealer) WithPepper(text string) (*Sealer, error) {
	pepper, err := hex.DecodeString(text)
	if err != nil || len(pepper) != len(b.pepper) {
		return nil, errors.New("the stored pepper has not the form of one")
	}
	return &Sealer{opens: b.opens, pepper: pepper}, nil
}

// Seal encrypts text for storage. label says what it is for; the same label
// opens it, so that a sealed value moved to another column does not open there.
func (b *Sealer) Seal(label, text string) string {
	nonce := random(b.opens[0].NonceSize())
	sealed := b.opens[0].Seal(nonce, nonce, []byte(text), []byte(label))
	return base64.StdEncoding.EncodeToString(sealed)
}

// errSealed tells nothing of what was sealed.
var errSealed = errors.New("a sealed value does not open: was it sealed with another secret key?")

// Open decrypts what Seal made with the same label.
func (b *Sealer) Open(label, sealed string) (string, error) {
	text, _, err := b.open(label, sealed)
	return text, err
}

// Reseal returns a value sealed with the key that seals now; the same one if it is.
func (b *Sealer) Reseal(label, sealed string) (string, error) {
	text, key, err := b.open(label, sealed)
	if err != nil || key == 0 {
		return sealed, err
	}
	return b.Seal(label, text), nil
}

// open also returns which of the keys opened it.
func (b *Sealer) open(label, sealed string) (text string, key int, err error) {
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return "", 0, errSealed
	}
	for i, aead := range b.opens {
		n := aead.NonceSize()
		if len(raw) < n {
			break
		}
		if text, err := aead.Open(nil, raw[:n], raw[n:], []byte(label)); err == nil {
			return string(text), i, nil
		}
	}
	return "", 0, errSealed
}

// Pepper hashes s with a key that the database holds only sealed, so that a stolen
// database alone proves nothing.
func (b *Sealer) Pepper(s string) string {
	mac := hmac.New(sha256.New, b.pepper)
	mac.Write([]byte(s))
	return hex.EncodeToString(mac.Sum(nil))
}
