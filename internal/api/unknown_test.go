package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestUnknownMembersOfTheProfile sends typos: each is refused with a suggestion, and nothing is
// saved.
func TestUnknownMembersOfTheProfile(t *testing.T) {
	h := newHarness(t)
	h.licenses()
	url, client := h.serve(), contract(t).Client(t)
	before := h.ask(client, "GET", url+"/v2/profile", "")
	for _, test := range []struct{ method, path, body, text string }{
		{"PUT", "/v2/profile", `{"webhookUrl":"https://app.example.com/hook"}`, "Did you mean webhook_url?"},
		{"PATCH", "/v2/profile", `{"error_member":false,"id_token_algorithm":"ES256"}`, "Did you mean id_token_alg?"},
		{"POST", "/v2/profile/contact", `{"email":"ada@example.com","namee":"Ada"}`, "Did you mean name?"},
		{"POST", "/v2/profile/contact", `{"email":"ada@example.com","name":"Ada","contact_id":7}`, "It takes email, name."},
		{"POST", "/v2/events/1/redeliver", `{"from":1}`, "It takes none"},
	} {
		got := h.ask(http.DefaultClient, test.method, url+test.path, test.body, "Content-Type: application/json")
		if got.Status != http.StatusBadRequest || !strings.Contains(got.Body, `"unknown_parameter"`) || !strings.Contains(got.Body, test.text) {
			t.Errorf("%s %s %s answered %d %s", test.method, test.path, test.body, got.Status, got.Body)
		}
	}
	if after := h.ask(client, "GET", url+"/v2/profile", ""); after.Body != before.Body {
		t.Errorf("the profile was\n%s\nand is\n%s", before.Body, after.Body)
	}
}

// TestProfileReadAndSentBack sends the answer of GET back.
func TestProfileReadAndSentBack(t *testing.T) {
	h := newHarness(t)
	h.licenses()
	url, client := h.serve(), contract(t).Client(t)
	read := h.ask(client, "GET", url+"/v2/profile", "")
	want := strings.Replace(read.Body, `"error_member":true`, `"error_member":false`, 1)
	if want == read.Body {
		t.Fatal(read.Body)
	}
	for _, method := range []string{"PUT", "PATCH"} {
		got := h.ask(client, method, url+"/v2/profile", want, "Content-Type: application/json")
		if got.Status != http.StatusOK || !strings.Contains(got.Body, `"error_member":false`) {
			t.Errorf("%s answered %d %s", method, got.Status, got.Body)
		}
	}
}
