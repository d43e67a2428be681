package area_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"claviger/internal/area"
	"claviger/internal/fault"
)

// TestSeen: a stale form is refused with the changes.
func TestSeen(t *testing.T) {
	shown := area.Seen{Version: "7", Facts: []area.Fact{{Name: "The status", Value: "active"}, {Name: "The owner", Value: ""}}}
	now := func(version string, facts ...string) area.Seen {
		return area.Seen{Version: version, Facts: []area.Fact{{Name: "The status", Value: facts[0]}, {Name: "The owner", Value: facts[1]}}}
	}
	for name, c := range map[string]struct {
		field string
		now   area.Seen
		code  string
		says  string
	}{
		"the same":               {"", now("7", "active", ""), "", ""},
		"changed":                {"", now("8", "held", "Ann"), area.CodeChangedSince, "The status was “active” and is now “held”. The owner was empty and is now “Ann”."},
		"changed, version alone": {"", now("8", "active", ""), area.CodeChangedSince, "is the same again"},
		"changed, facts alone":   {"", now("7", "held", ""), area.CodeChangedSince, "The status was “active” and is now “held”."},
		"long":                   {"", now("8", strings.Repeat("x", 5000), ""), area.CodeChangedSince, strings.Repeat("x", 200) + "…”"},
		"one appeared": {
			"",
			area.Seen{Version: "8", Facts: append(slices.Clone(shown.Facts), area.Fact{Name: "The key k3", Value: "next"}, area.Fact{Name: "The note"})},
			area.CodeChangedSince, "so nothing was done. The key k3 is new: “next”. The note is new: empty. Look",
		},
		"one went": {"", area.Seen{Version: "8", Facts: shown.Facts[1:]}, area.CodeChangedSince, "so nothing was done. The status was “active” and is there no more. Look"},
		"not sent": {"-", now("7", "active", ""), area.CodeIncompleteForm, "not sent whole"},
		"not ours": {"e30", now("7", "active", ""), area.CodeIncompleteForm, "not sent whole"}, // {}
	} {
		field, _ := shown.Param().Value.(string)
		if c.field != "" {
			field = c.field
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(url.Values{"seen": {field}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		err := c.now.Unchanged(r)
		f := fault.Of(err)
		switch {
		case c.code == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.code != "" && (f == nil || f.Code != c.code || !strings.Contains(f.Text, c.says)):
			t.Errorf("%s: %v", name, err)
		}
	}
}
