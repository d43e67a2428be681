package api_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/wire"
)

// brandSign returns the correct X-Licensing-Signature of a text.
func brandSign(secret, text string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(text)) // a hash never fails
	return hex.EncodeToString(mac.Sum(nil))
}

// headerOf finds a header in lines of "Name: value".
func headerOf(text, name string) string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSuffix(value, "\n")
		}
	}
	return ""
}

// checkSigned compares the sent with the signed texts of a step. In the step with the wrong
// signature, another secret made it.
func checkSigned(t *testing.T, secret string, c wire.Check) {
	t.Helper()
	head, body, _ := strings.Cut(c.Sent, "\n\n")
	for _, s := range c.Signed {
		if !strings.HasSuffix(s.Text, body) {
			t.Errorf("%s: the text of %s does not end in the body: %s", c.Step, s.Header, s.Text)
		}
		if headerOf(head, s.Header) == "" {
			t.Errorf("%s: no %s was sent: %s", c.Step, s.Header, head)
		}
	}
	right := headerOf(head, "X-Licensing-Signature") == brandSign(secret, c.Signed[0].Text)
	if wrong := strings.Contains(c.Step, "wrong signature"); right == wrong {
		t.Errorf("%s: the signature sent verifies: %v", c.Step, right)
	}
}

// TestTranscript reads the transcript as a partner's developer would: the sent and the signed
// texts. The posts of the check are recorded nowhere else.
func TestTranscript(t *testing.T) {
	h := newHarness(t)
	s := h.licenses()
	url, client := h.serve(), contract(t).Client(t)
	lists := func() string {
		return h.ask(client, "GET", url+"/v2/licenses/events", "").Body +
			h.ask(client, "GET", url+"/v2/licenses/"+s.active.Key+"/webhook-responses", "").Body
	}
	before := lists()
	for path, want := range map[string]struct {
		status int
		steps  []string
	}{
		"/webhook":  {http.StatusOK, []string{"purchase", "activate", "deactivate", "deactivate with a wrong signature", "the same deactivate with its right signature"}},
		"/careless": {http.StatusOK, []string{"purchase", "activate", "deactivate", "deactivate with a wrong signature"}},
		"/mistaken": {http.StatusUnprocessableEntity, []string{"purchase", "activate", "deactivate", "purchase with its signatures under other names too, to find the mistake", "purchase signed over the body alone, to find the mistake"}},
	} {
		got := h.ask(client, "PUT", url+"/v2/profile", `{"webhook_url":"`+h.application()+path+`"}`, jsonType)
		var answer struct {
			Checks []wire.Check `json:"checks"`
		}
		h.Must(json.Unmarshal([]byte(got.Body), &answer))
		var steps []string
		for _, c := range answer.Checks {
			steps = append(steps, strings.TrimPrefix(c.Step, "POST webhook_url: "))
			checkSigned(t, h.oursSecret, c)
			if strings.Contains(c.Sent+c.Answer, h.oursSecret) || !strings.Contains(c.Sent, `"test":true`) {
				t.Errorf("%s: %s sent %s", path, c.Step, c.Sent)
			}
		}
		if diff := cmp.Diff(want.steps, steps); diff != "" || got.Status != want.status {
			t.Errorf("%s: answered %d, want %d; steps (-want +got):\n%s", path, got.Status, want.status, diff)
		}
	}
	if diff := cmp.Diff(before, lists()); diff != "" {
		t.Errorf("the posts of a check are in the lists (-before +after):\n%s", diff)
	}
}

// TestExamplesVerify checks every webhook in the description with the secret of the test vectors in
// docs/webhooks.md.
func TestExamplesVerify(t *testing.T) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwZ2tJ4cD1xY8="
	var doc any
	if err := json.Unmarshal(readDescription(t), &doc); err != nil {
		t.Fatal(err)
	}
	seen := 0
	each(doc, func(object map[string]any) {
		header, recorded := object["request_header"].(string)
		body, _ := object["request_body"].(string)
		switch _, checked := object["signed"].([]any); {
		case recorded:
			seen++
			if headerOf(header, "X-Licensing-Signature") != brandSign(secret, headerOf(header, "X-Licensing-Timestamp")+body) {
				t.Errorf("a record that is shown does not verify: %s\n%s", header, body)
			}
		case checked:
			seen++
			raw, err := json.Marshal(object)
			var c wire.Check
			if err == nil {
				err = json.Unmarshal(raw, &c)
			}
			if err != nil {
				t.Error(err)
				return
			}
			checkSigned(t, secret, c)
		}
	})
	if seen < 8 {
		t.Errorf("only %d webhooks are shown", seen)
	}
}

// each calls f with every object in a JSON value.
func each(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		f(v)
		for _, member := range v {
			each(member, f)
		}
	case []any:
		for _, element := range v {
			each(element, f)
		}
	}
}
