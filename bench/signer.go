package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"claviger/bench/internal/yard"
)

// signatureOf cuts an answer of the token endpoint at its identity token.
func signatureOf(a yard.Answer, alg string) (yard.Signature, error) {
	id := member(a.Body, "id_token")
	before, after, _ := strings.Cut(string(a.Body), id)
	s := yard.Signature{
		Answer: yard.Answer{Header: a.Header.Clone(), Body: []byte(before)}, After: []byte(after), Alg: alg,
	}
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

// member returns a string of a JSON object without escapes, or "".
func member(body []byte, name string) string {
	_, rest, _ := strings.Cut(string(body), `"`+name+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
