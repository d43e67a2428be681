package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// TestNotModifiedReadsNoLicenses: if the client has the current version, the table of licenses is
// not read; it could even be missing.
func TestNotModifiedReadsNoLicenses(t *testing.T) {
	h := newHarness(t)
	srv := httptest.NewServer(h.Handler()) // not h.serve, which would report the errors that are expected here
	t.Cleanup(srv.Close)
	base := srv.URL
	l := h.buyTier(h.ours, 1, nil)
	urls := []string{base + "/v2/licenses", base + "/v2/licenses?status=inactive", base + "/v2/licenses/" + l.Key}
	var tags []string
	for _, url := range urls {
		tags = append(tags, h.view(url).tag)
	}
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`ALTER TABLE licenses RENAME TO licenses_away`)
		return nil
	}))
	for i, url := range urls {
		if got := h.status(url, tags[i]); got != http.StatusNotModified {
			t.Errorf("%s answered %d", url, got)
		}
		if got := h.status(url, `"another"`); got < 500 {
			t.Errorf("%s answered %d without the table", url, got)
		}
	}
}

// TestTagsOfOthers: a tag is useless without access, and at other URLs.
func TestTagsOfOthers(t *testing.T) {
	h := newHarness(t)
	base := h.serve()
	h.buyTier(h.ours, 1, nil)
	h.buyTier(h.other, 1, nil)
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE partner_counters SET turns = 7, clock = 7000`) // both, so that nothing else differs
		return nil
	}))
	list := base + "/v2/licenses"
	tag := h.view(list).tag
	ask := func(url string, header ...string) int {
		return h.ask(http.DefaultClient, "GET", url, "", append(header, "If-None-Match: "+tag)...).Status
	}
	moved, newer := h.in(t), h.in(t)
	moved.PublicURL, newer.Version = "https://elsewhere.example.com", "2"
	for name, c := range map[string]struct{ got, want int }{
		"ours":               {ask(list), 304},
		"ours, with a slash": {ask(list + "/"), 200},
		"another partner's":  {ask(list, "Authorization: Bearer "+h.otherKey), 200},
		"with a wrong key":   {ask(list, "Authorization: Bearer lk_wrong"), 401},
		"with a mistake":     {ask(list + "?limit=1000"), 400},
		"another page":       {ask(list + "?page=2"), 200},
		"another public URL": {ask(moved.serve() + "/v2/licenses"), 200},
		"another version":    {ask(newer.serve() + "/v2/licenses"), 200},
		"HEAD":               {h.ask(http.DefaultClient, "HEAD", list, "", "If-None-Match: "+tag).Status, 304},
	} {
		if c.got != c.want {
			t.Errorf("%s: answered %d, want %d", name, c.got, c.want)
		}
	}
}

// TestTagsAfterARestore: a restored database counts its changes from its old state, and yet no tag
// is used twice.
func TestTagsAfterARestore(t *testing.T) {
	h := newHarness(t)
	list := h.serve() + "/v2/licenses"
	l := h.buyTier(h.ours, 1, nil)
	h.Must(second(h.API.Licenses.Hold(t.Context(), tester, l.Key, license.HoldOther)))
	tag := h.view(list).tag
	h.Must(h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE partner_counters SET turns = turns - 1 WHERE partner_id = $1`, h.ours.ID)
		return nil
	}))
	h.Must(second(h.API.Licenses.Reinstate(t.Context(), tester, l.Key)))
	if got := h.status(list, tag); got != http.StatusOK {
		t.Errorf("answered %d to a tag from before", got)
	}
}

func second[T any](_ T, err error) error { return err }

// TestAnyTag: "*" matches every existing license, and no missing one.
func TestAnyTag(t *testing.T) {
	h := newHarness(t)
	base := h.serve()
	l, foreign := h.buyTier(h.ours, 1, nil), h.buyTier(h.other, 1, nil)
	for path, want := range map[string]int{
		"/v2/licenses": 304, "/v2/licenses/" + l.Key: 304, "/v2/licenses/" + l.Key + "/explain": 304, "/v2/profile": 304,
		"/v2/licenses/" + foreign.Key: 404, "/v2/licenses/" + foreign.Key + "/explain": 404, "/v2/licenses/none": 404,
	} {
		if got := h.status(base+path, "*"); got != want {
			t.Errorf("%s answered %d, want %d", path, got, want)
		}
	}
}

// TestChangesHaveNoTag: requests for changes are always answered in full.
func TestChangesHaveNoTag(t *testing.T) {
	h := newHarness(t)
	h.buyTier(h.ours, 1, nil)
	got := h.ask(http.DefaultClient, "GET", h.serve()+"/v2/licenses?updated_since=2026-01-01T00:00:00Z", "", "If-None-Match: *")
	if got.Status != 200 || got.Header.Get("ETag") != "" || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("answered %d with %v", got.Status, got.Header)
	}
}

// TestTagsOfBodies: changes outside of licenses change the tag, too.
func TestTagsOfBodies(t *testing.T) {
	h := newHarness(t)
	base := h.serve()
	l := h.buyTier(h.ours, 1, nil)
	events, ofLicense := base+"/v2/licenses/events", base+"/v2/licenses/"+l.Key+"/events"
	responses, explain, profile := base+"/v2/licenses/"+l.Key+"/webhook-responses", base+"/v2/licenses/"+l.Key+"/explain", base+"/v2/profile"
	oldest := events + "?order=asc&limit=1"
	for _, c := range []struct {
		act
		moves, stand []string
	}{
		{act{"an attempt", func() error { h.record(l, 1); return nil }}, []string{events, ofLicense, oldest, responses}, []string{explain, profile}},
		{act{"a contact", func() error {
			return second(h.Profiles.AddContact(t.Context(), tester, h.ours.ID, "Ann", "ann@example.com"))
		}}, []string{profile}, []string{events, ofLicense, oldest, responses, explain}},
		{act{"a hold", func() error {
			return second(h.API.Licenses.Hold(t.Context(), tester, l.Key, license.HoldOther))
		}}, []string{events, ofLicense, oldest, explain}, []string{responses, profile}}, // the oldest has a next page now
	} {
		tags := map[string]string{}
		for _, url := range append(c.moves, c.stand...) {
			tags[url] = h.view(url).tag
		}
		h.Must(c.do())
		for _, url := range c.moves {
			if got := h.status(url, tags[url]); got != http.StatusOK {
				t.Errorf("after %s %s answered %d", c.name, url, got)
			}
		}
		for _, url := range c.stand {
			if got := h.status(url, tags[url]); got != http.StatusNotModified {
				t.Errorf("after %s %s answered %d", c.name, url, got)
			}
		}
	}
}
