package api_test

import (
	"net/http"
	"testing"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// view is the answer to a request of ours, with its tag.
type view struct{ body, link, total, tag string }

func (h *harness) view(url string) view {
	h.Helper()
	got := h.ask(http.DefaultClient, "GET", url, "")
	if got.Status != http.StatusOK || got.Header.Get("Cache-Control") != "private, no-cache" || got.Header.Get("ETag") == "" {
		h.Fatalf("%s answered %d with %v", url, got.Status, got.Header)
	}
	return view{got.Body, got.Header.Get("Link"), got.Header.Get("X-Total-Count"), got.Header.Get("ETag")}
}

// status returns the status for a client that has the tag.
func (h *harness) status(url, tag string) int {
	h.Helper()
	got := h.ask(http.DefaultClient, "GET", url, "", "If-None-Match: "+tag)
	if got.Status == http.StatusNotModified && (got.Body != "" || got.Header.Get("ETag") == "" || got.Header.Get("Cache-Control") != "private, no-cache") {
		h.Errorf("%s answered 304 with %q and %v", url, got.Body, got.Header)
	}
	return got.Status
}

// act is an act on licenses.
type act struct {
	name string
	do   func() error
}

// acts returns every act on a license and on related things; each changes something.
func (h *harness) acts(l license.License, buyer *account.Person) []act {
	ctx := h.Context()
	var refund int64
	one := func(do func() (license.License, error)) func() error {
		return func() error { _, err := do(); return err }
	}
	owner := func() int64 {
		found, err := h.API.Licenses.ByKey(ctx, l.Key)
		h.Must(err)
		return found.OwnerID
	}
	amend := func(change func(tx *sqldb.Tx) error) func() error {
		return func() error { return h.DB.Write(ctx, change) }
	}
	return []act{
		{"purchase", func() error { h.buyTier(h.ours, 1, buyer); return nil }},
		{"activate", one(func() (license.License, error) { return h.API.Licenses.Activate(ctx, tester, l.Key, buyer) })},
		{"change plan", func() error {
			_, err := h.API.Licenses.ChangePlan(ctx, tester, l.Key, license.PlanChange{Tier: 2})
			return err
		}},
		{"hold", one(func() (license.License, error) { return h.API.Licenses.Hold(ctx, tester, l.Key, license.HoldOther) })},
		{"reinstate", one(func() (license.License, error) { return h.API.Licenses.Reinstate(ctx, tester, l.Key) })},
		{"refund", func() error {
			f, err := h.API.Licenses.Refund(ctx, tester, license.RefundOrder{LicenseKey: l.Key})
			refund = f.ID
			return err
		}},
		{"reverse", func() error { _, err := h.API.Licenses.ReverseRefund(ctx, tester, refund); return err }},
		{"release", one(func() (license.License, error) { return h.API.Licenses.Release(ctx, tester, l.Key) })},
		{"redeem", one(func() (license.License, error) { return h.API.Licenses.Redeem(ctx, tester, l.RedemptionID, owner()) })},
		{"disconnect", one(func() (license.License, error) {
			return h.API.Licenses.Disconnect(ctx, tester, l.RedemptionID, owner())
		})},
		{"redeem again", one(func() (license.License, error) { return h.API.Licenses.Redeem(ctx, tester, l.RedemptionID, owner()) })},
		{"transfer", one(func() (license.License, error) {
			return h.API.Licenses.Transfer(ctx, tester, l.Key, account.Person{Email: "bob@example.com"})
		})},
		{"rename a plan", func() error {
			_, _, err := h.API.Partners.PutPlan(ctx, tester, h.ours.ID, partner.Plan{Tier: 2, Name: "Business"})
			return err
		}},
		{"remove a plan", func() error { return h.API.Partners.DeletePlan(ctx, tester, h.ours.ID, 3) }},
		{"another brand", amend(func(tx *sqldb.Tx) error {
			_, _, err := h.API.Partners.Amend(ctx, tx, tester, h.ours.ID, partner.Change{Brand: new("Other")})
			return err
		})},
		{"pause", amend(func(tx *sqldb.Tx) error {
			_, err := h.API.Partners.Pause(ctx, tx, tester, h.ours.ID, "late")
			return err
		})},
		{"resume", amend(func(tx *sqldb.Tx) error { _, err := h.API.Partners.Resume(ctx, tx, tester, h.ours.ID); return err })},
		{"redeem by the new owner", one(func() (license.License, error) { return h.API.Licenses.Redeem(ctx, tester, l.RedemptionID, owner()) })},
		{"erase the owner", func() error { _, err := h.API.Licenses.EraseUser(ctx, tester, owner()); return err }},
	}
}

// TestTagsOfLicenses tests every act: whenever the body or the links of an answer with licenses
// change, its tag does; and if the tag is the same, the answer is 304.
func TestTagsOfLicenses(t *testing.T) {
	h := newHarness(t)
	base := h.serve()
	ann := &account.Person{Email: "ann@example.com"}
	l := h.buyTier(h.ours, 1, ann)
	h.buyTier(h.ours, 1, nil)
	urls := []string{
		base + "/v2/licenses", base + "/v2/licenses?order=asc&limit=1", base + "/v2/licenses?limit=1&page=2", base + "/v2/licenses?page=7",
		base + "/v2/licenses?status=active", base + "/v2/licenses?status=inactive", base + "/v2/licenses?status=deactivated&limit=1",
		base + "/v2/licenses/" + l.Key,
	}
	moved := map[string]bool{}
	for _, a := range h.acts(l, ann) {
		before := map[string]view{}
		for _, url := range urls {
			before[url] = h.view(url)
			if got := h.status(url, before[url].tag); got != http.StatusNotModified {
				t.Errorf("before %s: %s answered %d to its own tag", a.name, url, got)
			}
		}
		if err := a.do(); err != nil {
			t.Fatalf("%s: %v", a.name, err)
		}
		for _, url := range urls {
			was, is := before[url], h.view(url)
			same := was.body == is.body && was.link == is.link && was.total == is.total
			if !same && was.tag == is.tag {
				t.Errorf("%s changed %s, and not its tag", a.name, url)
			}
			if got := h.status(url, was.tag); !same && got != http.StatusOK {
				t.Errorf("after %s %s answered %d to the tag of what it was before", a.name, url, got)
			}
			moved[a.name] = moved[a.name] || !same
		}
	}
	for _, name := range []string{"purchase", "activate", "change plan", "hold", "reinstate", "refund", "reverse", "release", "redeem", "disconnect", "transfer", "erase the owner"} {
		if !moved[name] {
			t.Errorf("%s changed no answer: the walk proves nothing of it", name)
		}
	}
}
