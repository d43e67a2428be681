package accounttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"
)

// Passkey is a device that has one passkey and verifies its user.
type Passkey struct {
	Origin string // of the pages that use it
	Count  uint32 // the signature counter that the next answer sends

	id, user []byte
	key      *ecdsa.PrivateKey
}

// options are the parts of a challenge that a device reads.
type options struct {
	PublicKey struct {
		Challenge string `json:"challenge"`
		RPID      string `json:"rpId"`
		RP        struct {
			ID string `json:"id"`
		} `json:"rp"`
		User struct {
			ID string `json:"id"`
		} `json:"user"`
	} `json:"publicKey"`
}

func read(t testing.TB, text json.RawMessage) options {
	t.Helper()
	var o options
	if err := json.Unmarshal(text, &o); err != nil || o.PublicKey.Challenge == "" {
		t.Fatalf("a challenge: %v\n%s", err, text)
	}
	return o
}

func text(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Flags of authenticator data: the user is present and verified, and a key is attached.
const (
	flagsVerified = 0x01 | 0x04
	flagsAttached = 0x40
)

// said returns the authenticator data that a device signs.
func (p *Passkey) said(host string, flags byte) []byte {
	sum := sha256.Sum256([]byte(host))
	return binary.BigEndian.AppendUint32(append(sum[:], flags), p.Count)
}

func (p *Passkey) client(t testing.TB, kind, challenge string) []byte {
	t.Helper()
	return encode(t, map[string]any{"type": kind, "challenge": challenge, "origin": p.Origin})
}

// Register makes a new key and answers the challenge that registers it.
func (p *Passkey) Register(t testing.TB, challenge json.RawMessage) []byte {
	t.Helper()
	o := read(t, challenge).PublicKey
	var err error
	if p.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	p.id = make([]byte, 16)
	_, _ = rand.Read(p.id) // never fails
	if p.user, err = base64.RawURLEncoding.DecodeString(o.User.ID); err != nil {
		t.Fatal(err)
	}
	point, err := p.key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	data := p.said(o.RP.ID, flagsVerified|flagsAttached)
	data = append(data, make([]byte, 16)...) // AAGUID: unknown model
	data = append(binary.BigEndian.AppendUint16(data, uint16(len(p.id))), p.id...)
	// The key as CBOR: {1: 2 (EC2), 3: -7 (ES256), -1: 1 (P-256), -2: x, -3: y}.
	data = append(data, 0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 32)
	data = append(data, point[1:33]...)
	data = append(append(data, 0x22, 0x58, 32), point[33:]...)
	// {"fmt": "none", "attStmt": {}, "authData": data}
	object := append([]byte{0xa3, 0x63}, "fmt"...)
	object = append(append(object, 0x64), "none"...)
	object = append(append(object, 0x67), "attStmt"...)
	object = append(append(object, 0xa0, 0x68), "authData"...)
	object = append(binary.BigEndian.AppendUint16(append(object, 0x59), uint16(len(data))), data...)
	return encode(t, map[string]any{
		"id": text(p.id), "rawId": text(p.id), "type": "public-key",
		"response": map[string]string{
			"clientDataJSON": text(p.client(t, "webauthn.create", o.Challenge)), "attestationObject": text(object),
		},
	})
}

// Answer signs the challenge of a sign-in.
func (p *Passkey) Answer(t testing.TB, challenge json.RawMessage) []byte {
	t.Helper()
	o := read(t, challenge).PublicKey
	data := p.said(o.RPID, flagsVerified)
	client := p.client(t, "webauthn.get", o.Challenge)
	sum := sha256.Sum256(client)
	signed := sha256.Sum256(append(data[:len(data):len(data)], sum[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, p.key, signed[:])
	if err != nil {
		t.Fatal(err)
	}
	return encode(t, map[string]any{
		"id": text(p.id), "rawId": text(p.id), "type": "public-key",
		"response": map[string]string{
			"clientDataJSON": text(client), "authenticatorData": text(data), "signature": text(signature),
			"userHandle": text(p.user),
		},
	})
}
