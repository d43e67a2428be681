package main

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"

	"claviger/bench/internal/yard"
)

// signing reads the form and signs the same claims with the same library and algorithm. It does
// nothing else: it knows no clients, makes no tokens and stores nothing.
func signing(_ context.Context, line []byte) (http.HandlerFunc, error) {
	s, err := read[yard.Signature](line)
	if err != nil {
		return nil, err
	}
	key, err := newKey(s.Alg)
	if err != nil {
		return nil, err
	}
	signer, err := jose.NewSigner(jose.SigningKey{
		Algorithm: jose.SignatureAlgorithm(s.Alg), Key: jose.JSONWebKey{
			Key: key, KeyID: s.KeyID, Algorithm: s.Alg, Use: "sig",
		},
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
		s.Head(w)
		_, _ = w.Write(body)
	}, nil
}

func newKey(alg string) (crypto.Signer, error) {
	if alg == "ES256" {
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	return rsa.GenerateKey(rand.Reader, 2048)
}

func signed(signer jose.Signer, claims yard.Identity) (string, error) {
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
