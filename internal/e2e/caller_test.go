package e2e_test

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"claviger/internal/wire/wiretest"
	claviger "claviger/sdk/go"
)

// caller is a program with a key or token, of a partner or a marketplace.
type caller struct {
	base     string
	token    string
	contract contract
}

// contract has the clients that check every exchange against the service's description, by path
// prefix.
type contract map[string]*http.Client

// contractOf fetches the descriptions from a running service.
func contractOf(t testing.TB, base string) contract {
	t.Helper()
	c := contract{}
	for _, prefix := range []string{"/v2/", "/operator/v1/"} {
		described := caller{base: base}.must(t, 200, "GET", prefix+"openapi.json", nil)
		c[prefix] = wiretest.Shared(t, described.body).Client(t)
	}
	return c
}

// client returns the client for a path; undescribed paths have the plain one.
func (c contract) client(path string) *http.Client {
	for prefix, client := range c {
		if strings.HasPrefix(path, prefix) {
			return client
		}
	}
	return http.DefaultClient
}

// with returns the caller with another key.
func (c caller) with(token string) caller {
	c.token = token
	return c
}

// answer is a received answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call sends a request, body as JSON unless it is nil.
func (c caller) call(ctx context.Context, method, path string, body any) (answer, error) {
	return c.send(ctx, claviger.Request{Method: method, Path: path, Body: body})
}

// send sends a request with the client that partners and marketplaces use. Public paths are
// requested with any key.
func (c caller) send(ctx context.Context, r claviger.Request) (answer, error) {
	client, err := claviger.NewClient(claviger.Config{URL: c.base, Secret: cmp.Or(c.token, "none"), HTTP: c.contract.client(r.Path)})
	if err != nil {
		return answer{}, err
	}
	resp, err := client.Send(ctx, r)
	if err != nil {
		return answer{}, err
	}
	return answer{resp.Status, resp.Header, resp.Body}, nil
}

// must sends a request, requires this status and returns the answer.
func (c caller) must(t testing.TB, status int, method, path string, body any) answer {
	t.Helper()
	a, err := c.call(t.Context(), method, path, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if a.status != status {
		t.Fatalf("%s %s: status %d, want %d: %s", method, path, a.status, status, a.body)
	}
	return a
}

// read decodes an answer into a T.
func read[T any](t testing.TB, a answer) T {
	t.Helper()
	v, err := decode[T](a)
	if err != nil {
		t.Fatalf("decode %s: %v", a.body, err)
	}
	return v
}

func decode[T any](a answer) (T, error) {
	var v T
	err := json.Unmarshal(a.body, &v)
	return v, err
}

// list is the envelope of every list.
type list[T any] struct {
	Size  int `json:"size"`
	Items []T `json:"items"`
}

// object is a JSON object for a body.
type object map[string]any

// The parts of the answers that the stories use.
type (
	licenseLine struct {
		Key       string `json:"license_key"`
		RedeemURL string `json:"license_redemption_url"`
		Status    string `json:"status"`
		Tier      int    `json:"tier"`
		CreatedAt string `json:"created_at"`
		UpdatedAt string `json:"updated_at"`
	}
	eventLine struct {
		ID        int64        `json:"event_id"`
		PartnerID int64        `json:"partner_id"`
		Kind      string       `json:"event"`
		Tier      int          `json:"tier"`
		Key       string       `json:"license_key"`
		Reason    string       `json:"reason"`
		Responses list[object] `json:"responses"`
	}
	sale struct {
		Purchase struct {
			ID     int64 `json:"id"`
			UserID int64 `json:"user_id"`
		} `json:"purchase"`
		Licenses list[licenseLine] `json:"licenses"`
	}
	refusal struct {
		Error     string `json:"error"`
		Message   string `json:"message"`
		RequestID string `json:"request_id"`
	}
)
