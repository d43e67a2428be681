// Package secret makes, hashes, compares and seals opaque secrets: API keys, codes, tokens, client
// secrets, webhook secrets. It stores nothing.
//
// Secrets that are only compared are stored as a hash. They have 256 random bits, so a plain
// SHA-256 is enough and a slow hash would only cost time. Package account hashes people's
// passwords.
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

// KeySize is the length of a Sealer's key in bytes.
const KeySize = 32

// Make returns prefix and a new secret of 256 random bits in lower-case hex.
func Make(prefix string) string {
	return prefix + hex.EncodeToString(random(32))
}

// MakeWebhook returns a new webhook secret in the form of Standard Webhooks: whsec_ and the base64
// of 32 bytes.
func MakeWebhook() string {
	return string(WebhookSecret) + base64.StdEncoding.EncodeToString(random(32))
}

// UUID returns a random (version 4) UUID in its usual form.
func UUID() string { return uuid(random(16), 4) }

// TimeUUID returns a UUID that begins with a time in milliseconds (version 7), followed by 74
// random bits. Keys of the same time are adjacent in an index.
func TimeUUID(at time.Time) string {
	b := random(16)
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(at.UnixMilli())) //nolint:gosec // after 1970
	copy(b, ms[2:])
	return uuid(b, 7)
}

// uuid formats 16 bytes as a UUID of a version.
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

// random cannot fail: crypto/rand ends the program if the system has no randomness.
func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

// Hash returns the form in which a random secret is stored and looked up.
func Hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Equal compares two secrets, or two hashes, in constant time.
func Equal(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// Sealer seals values that we must read again, and peppers those that we only compare.
type Sealer struct {
	opens  []cipher.AEAD // for stored values; the first seals
	pepper []byte
}

// NewSealer returns a Sealer with the installation's secret key of KeySize bytes. Values sealed
// with one of the other keys open, too. The pepper is derived from the key until WithPepper sets
// the stored one.
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

// PepperText returns the pepper in the form that is sealed and stored.
func (b *Sealer) PepperText() string { return hex.EncodeToString(b.pepper) }

// WithPepper returns the Sealer with the stored pepper, which outlives every key.
func (b *Sealer) WithPepper(text string) (*Sealer, error) {
	pepper, err := hex.DecodeString(text)
	if err != nil || len(pepper) != len(b.pepper) {
		return nil, errors.New("the stored pepper has not the form of one")
	}
	return &Sealer{opens: b.opens, pepper: pepper}, nil
}

// Seal encrypts text for storage. Only the same label opens it, so a sealed value moved to another
// column does not open there.
func (b *Sealer) Seal(label, text string) string {
	nonce := random(b.opens[0].NonceSize())
	sealed := b.opens[0].Seal(nonce, nonce, []byte(text), []byte(label))
	return base64.StdEncoding.EncodeToString(sealed)
}

// errSealed reveals nothing about the sealed value.
var errSealed = errors.New("a sealed value does not open: was it sealed with another secret key?")

// Open decrypts a value that Seal made with the same label.
func (b *Sealer) Open(label, sealed string) (string, error) {
	text, _, err := b.unseal(label, sealed)
	return text, err
}

// Reseal returns the value sealed with the current key, unchanged if it already is.
func (b *Sealer) Reseal(label, sealed string) (string, error) {
	text, key, err := b.unseal(label, sealed)
	if err != nil || key == 0 {
		return sealed, err
	}
	return b.Seal(label, text), nil
}

// unseal also returns the index of the key that opened it.
func (b *Sealer) unseal(label, sealed string) (text string, key int, err error) {
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

// Pepper hashes s with a key that is stored only sealed, so a stolen database alone proves nothing.
func (b *Sealer) Pepper(s string) string {
	mac := hmac.New(sha256.New, b.pepper)
	mac.Write([]byte(s))
	return hex.EncodeToString(mac.Sum(nil))
}
