package api_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/license"
	"claviger/internal/paging"
)

var nextLink = regexp.MustCompile(`<([^>]*)>; rel="next"`)

// follow reads a list from a path on, through its next links, and returns the license keys and the
// paths.
func (h *harness) follow(client *http.Client, url, path string) (keys, paths []string) {
	h.Helper()
	for path != "" {
		paths = append(paths, path)
		got := h.ask(client, "GET", url+path, "")
		var list struct {
			Items []struct {
				Key string `json:"license_key"`
			}
		}
		if got.Status != http.StatusOK || json.Unmarshal([]byte(got.Body), &list) != nil {
			h.Fatalf("%s answered %d %s", path, got.Status, got.Body)
		}
		for _, l := range list.Items {
			keys = append(keys, l.Key)
		}
		path = ""
		if m := nextLink.FindStringSubmatch(got.Header.Get("Link")); m != nil {
			path = m[1]
		}
	}
	return keys, paths
}

// TestFollowChanges follows the links of the list of changes, also from a page with a number: each
// next link has a cursor and no page.
func TestFollowChanges(t *testing.T) {
	h := newHarness(t)
	h.licenses()
	for range 4 {
		h.buyTier(h.ours, 1, nil)
	}
	url, client := h.serve(), contract(t).Client(t)
	for _, query := range []string{"", "&order=asc", "&status=inactive", "&order=asc&status=inactive"} {
		base := "/v2/licenses?updated_since=2026-01-01T00:00:00Z" + query
		want, _ := h.follow(client, url, base)
		if n := len(want); n != 7 && !strings.Contains(query, "status") || n < 5 {
			t.Fatalf("%s has %d licenses", base, n)
		}
		for begin, skip := range map[string]int{"&limit=2": 0, "&limit=1&page=1": 0, "&limit=2&page=2": 2} {
			got, paths := h.follow(client, url, base+begin)
			if diff := cmp.Diff(want[skip:], got); diff != "" {
				t.Errorf("%s (-all +followed)\n%s", base+begin, diff)
			}
			for _, path := range paths[1:] {
				if !strings.Contains(path, "cursor=") || strings.Contains(path, "page=") {
					t.Errorf("after %s comes %s", base+begin, path)
				}
			}
		}
	}
}

// TestCursorOfAnother sends a cursor of one partner as the other: it gets only its own licenses.
func TestCursorOfAnother(t *testing.T) {
	h := newHarness(t)
	h.licenses()
	url, client := h.serve(), contract(t).Client(t)
	_, paths := h.follow(client, url, "/v2/licenses?updated_since=2026-01-01T00:00:00Z&order=asc&limit=1")
	list, err := h.API.Licenses.List(t.Context(), h.other.ID, license.Filter{}, paging.First())
	h.Must(err)
	for _, path := range paths[1:] {
		got := h.ask(client, "GET", url+path, "", "Authorization: Bearer "+h.otherKey)
		if got.Status != http.StatusOK || strings.Count(got.Body, "license_key") != strings.Count(got.Body, list.Licenses[0].Key) {
			t.Errorf("%s answered %d %s", path, got.Status, got.Body)
		}
	}
}
