package api_test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/wire/wiretest"
)

func contract(t testing.TB) *wiretest.Contract {
	t.Helper()
	return wiretest.SharedContract(t, "openapi.json")
}

// TestConversations plays testdata/*.txtar, each on its own harness with the same licenses.
func TestConversations(t *testing.T) {
	c := wiretest.ReadContract(t, "openapi.json") // its own contract: exchanges of other tests do not count
	wiretest.Run(t, "testdata/*.txtar", func(t *testing.T) wiretest.Stage {
		h := newHarness(t)
		s := h.licenses()
		h.record(s.active, 12)
		h.refuse(s.active)
		application := h.application()
		h.endedRun(application)
		h.Earn(h.clock.Now(), h.ours.ID, h.other.ID)
		return wiretest.Stage{
			Client: c.Client(t),
			URL:    h.serve(),
			Vars: map[string]string{
				"key":             h.oursKey,
				"other_key":       h.otherKey,
				"inactive":        s.inactive.Key,
				"active":          s.active.Key,
				"deactivated":     s.deactivated.Key,
				"foreign":         s.foreign.Key,
				"foreign_event":   strconv.FormatInt(s.foreignEvent, 10),
				"foreign_contact": strconv.FormatInt(s.foreignContact, 10),
				"application":     application,
			},
			Hide: map[string]string{
				"encoded-time": `\d{4}-\d\d-\d\dT\d\d%3A\d\d%3A\d\d\.\d{6}Z`,
				"cursor":       `cursor=[A-Za-z0-9_-]+`,
				"host":         `\b127\.0\.0\.1:\d+`,
				"sample":       `"sample": "(\\.|[^"\\])*"`, // contains the time of the clock
				// Parts of the transcript of a check; TestTranscript tests them.
				"ending": `"ending": "[^"]{4}"|ending in [0-9a-zA-Z+/=]{4}`,
				"sent":   `"sent": "POST (\\.|[^"\\])*"`,
				"signed": `"signed": \[[^]]*\]`,
			},
		}
	})
	t.Run("description", func(t *testing.T) { testServedDescription(t, c.Client(t)) })
	if left := c.Unseen(); len(left) > 0 {
		t.Errorf("no conversation shows %v", left)
	}
}

// testServedDescription reads the description without a key. It is too long for
// a conversation.
func testServedDescription(t *testing.T, client *http.Client) {
	h := newHarness(t)
	for _, path := range []string{"/v2/openapi.json", "/v2/openapi.json/"} {
		got := h.ask(client, "GET", h.serve()+path, "", "Authorization: ")
		if got.Status != http.StatusOK || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("GET %s answered %d %s", path, got.Status, got.Header.Get("Content-Type"))
		}
		if d := cmp.Diff(string(readDescription(t)), got.Body); d != "" {
			t.Errorf("GET %s answered another text than openapi.json has (-want +got):\n%s", path, d)
		}
	}
}

// TestRoutesAreThePaths compares the route table with the description.
func TestRoutesAreThePaths(t *testing.T) {
	h := newHarness(t)
	var routes []string
	for _, route := range h.Routes() {
		routes = append(routes, route.Method+" "+route.Path)
	}
	slices.Sort(routes)
	if d := cmp.Diff(routes, contract(t).Operations()); d != "" {
		t.Errorf("routes and openapi.yaml differ (-routes +paths):\n%s", d)
	}
}
