package export_test

import (
	"net/url"
	"strings"
	"testing"

	"claviger/internal/apptest"
	"claviger/internal/export"
	"claviger/internal/fault"
	"claviger/internal/profile"
)

// TestFiltersAreRead: every list rejects a malformed filter. Otherwise a file would contain the
// rows of all partners.
func TestFiltersAreRead(t *testing.T) {
	h := apptest.New(t)
	p, _ := h.Partner("Ours", profile.URLs{})
	for _, kind := range export.OperatorKinds {
		for query, field := range map[string]string{
			"partner_id=" + id(p):             "",
			"partner_id=1&from=":              "",
			"partner_id=abc":                  "partner_id",
			"partner_id=0":                    "partner_id",
			"partner_id=-1":                   "partner_id",
			"partner_id=1a":                   "partner_id",
			"partner_id=99999999999999999999": "partner_id",
			"from=1970-01-01T00:00:00Z":       "",
			"to=2200-12-31T23:59:59Z":         "",
			"from=1969-12-31T23:59:59Z":       "from",
			"from=yesterday":                  "from",
			"to=2201-01-01T00:00:00Z":         "to",
			"to=2026-11-15":                   "to",
		} {
			q, err := url.ParseQuery(query)
			h.Must(err)
			_, err = h.Exports.OperatorTable(t.Context(), kind, q)
			if f := fault.Of(err); (f == nil) != (field == "") || f != nil && f.Field != field || f == nil && err != nil {
				t.Errorf("%s of %s: %v, want a fault of %q", query, kind, err, field)
			}
		}
	}
	for _, c := range []struct {
		kind         export.Kind
		query, field string
	}{
		{export.Licenses, "tier=1", ""},
		{export.Licenses, "tier=2", ""},
		{export.Licenses, "tier=0", "tier"},
		{export.Licenses, "tier=x", "tier"},
		{export.Licenses, "license_key=no", "license_key"},
		{export.Licenses, "status=odd", "status"},
		{export.Events, "event=purchase", ""},
		{export.Events, "event=sale", "event"},
		{export.Audit, "actor=user:3", ""},
		{export.Audit, "actor=root", "actor"},
	} {
		q, err := url.ParseQuery(c.query)
		h.Must(err)
		err = errOf(h.Exports.OperatorTable(t.Context(), c.kind, q))
		if f := fault.Of(err); (f == nil) != (c.field == "") || f != nil && f.Field != c.field {
			t.Errorf("%s of %s: %v, want a fault of %q", c.query, c.kind, err, c.field)
		}
	}
	for _, kind := range []export.Kind{export.Deliveries, export.Requests, "people"} {
		err := errOf(h.Exports.OperatorTable(t.Context(), kind, nil))
		if f := fault.Of(err); f == nil || !strings.Contains(f.Text, "licenses, purchases, orders, events, audit") || strings.Count(f.Text, "licenses") != 1 {
			t.Errorf("%s of the marketplace: %v", kind, err)
		}
	}
}

func errOf(_ export.Table, err error) error { return err }

// TestUnknownNamesMatchNothing: an unknown license or person has no rows.
func TestUnknownNamesMatchNothing(t *testing.T) {
	h := newHarness(t)
	for kind, query := range map[export.Kind]string{
		export.Events: "license_key=0b6d8f4e-0000-4000-8000-000000000000", export.Licenses: "email=nobody@example.com",
		export.Purchases: "email=nobody@example.com",
	} {
		q, err := url.ParseQuery(query)
		h.Must(err)
		table, err := h.Exports.OperatorTable(t.Context(), kind, q)
		h.Must(err)
		if rows, _ := h.rows(table); len(rows) != 0 {
			t.Errorf("%s of %s: %d rows", query, kind, len(rows))
		}
	}
}

func TestFormats(t *testing.T) {
	for text, want := range map[string]struct {
		format export.Format
		media  string
	}{
		"":       {export.CSV, "text/csv; charset=utf-8; header=present"},
		"csv":    {export.CSV, "text/csv; charset=utf-8; header=present"},
		"ndjson": {export.NDJSON, "application/x-ndjson"},
	} {
		if f, err := export.ParseFormat(text); err != nil || f != want.format || f.ContentType() != want.media {
			t.Errorf("%q: %q, %q, %v", text, f, f.ContentType(), err)
		}
	}
	if _, err := export.ParseFormat("xlsx"); fault.Of(err) == nil {
		t.Errorf("an unknown format: %v", err)
	}
	if export.Unknown.Known() || !(export.Estimate{}).Known() || !(export.Estimate{Rows: 1}).Known() {
		t.Error("an estimate is known from 0 on")
	}
}
