package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// identity is the body of an identity token as the service makes it.
type identity struct {
	Issuer        string `json:"iss"`
	Subject       string `json:"sub"`
	Audience      string `json:"aud"`
	Expires       int64  `json:"exp"`
	IssuedAt      int64  `json:"iat"`
	AuthTime      int64  `json:"auth_time,omitempty"`
	Nonce         string `json:"nonce,omitempty"`
	AccessHash    string `json:"at_hash"`
	LicenseKey    string `json:"license_key"`
	Tier          int    `json:"tier"`
	LicenseStatus string `json:"license_status"`
}

// signature is what the signing handler is told: an answer of the service, cut at
// its identity token.
type signature struct {
	answer            // the body is what stands before the token
	After    []byte   `json:"after"`
	Alg      string   `json:"alg"`
	KeyID    string   `json:"kid"`
	Identity identity `json:"identity"`
}

// signatureOf cuts an answer of the token endpoint at its identity token.
func signatureOf(a answer, alg string) (signature, error) {
	id := member(a.Body, "id_token")
	before, after, _ := strings.Cut(string(a.Body), id)
	s := signature{answer: answer{Header: a.Header.Clone(), Body: []byte(before)}, After: []byte(after), Alg: alg}
	s.Header.Del("Content-Length")
	signed, err := jose.ParseSigned(id, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(alg)})
	if err != nil {
		return s, fmt.Errorf("read the identity token: %w", err)
	}
	s.KeyID = signed.Signatures[0].Header.KeyID
	if err := json.Unmarshal(signed.UnsafePayloadWithoutVerification(), &s.Identity); err != nil {
		return s, fmt.Errorf("read the identity token: %w", err)
	}
	return s, nil
}

// signingHandler reads the form and signs the same claims with the same library
// and algorithm, and does nothing else: it knows no client, makes no token and
// stores nothing. All that a token endpoint does beyond that costs something.
func signingHandler(given []byte) (http.HandlerFunc, error) {
	var s signature
	if err := json.Unmarshal(given, &s); err != nil {
		return nil, fmt.Errorf("read the answer to sign: %w", err)
	}
	key, err := newKey(s.Alg)
	if err != nil {
		return nil, err
	}
	signer, err := jose.NewSigner(jose.SigningKey{
		Algorithm: jose.SignatureAlgorithm(s.Alg), Key: jose.JSONWebKey{Key: key, KeyID: s.KeyID, Algorithm: s.Alg, Use: "sig"},
	}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return nil, fmt.Errorf("make a signer: %w", err)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.PostForm.Get("grant_type") == "" {
			http.Error(w, "not a token request", http.StatusBadRequest)
			return
		}
		now, claims := time.Now(), s.Identity
		claims.IssuedAt, claims.Expires = now.Unix(), now.Add(time.Hour).Unix()
		id, err := signed(signer, claims)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		body := make([]byte, 0, len(s.Body)+len(id)+len(s.After))
		body = append(append(append(body, s.Body...), id...), s.After...)
		s.head(w)
		_, _ = w.Write(body)
	}, nil
}

func newKey(alg string) (crypto.Signer, error) {
	if alg == "ES256" {
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	return rsa.GenerateKey(rand.Reader, 2048)
}

func signed(signer jose.Signer, claims identity) (string, error) {
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	object, err := signer.Sign(body)
	if err != nil {
		return "", err
	}
	return object.CompactSerialize()
}

// member is a text of a JSON object without escapes, "" when it is not there.
func member(body []byte, name string) string {
	_, rest, _ := strings.Cut(string(body), `"`+name+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
