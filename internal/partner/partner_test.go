package partner_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

var (
	noon     = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	operator = audit.Actor{Kind: audit.ByToken, ID: 1, Name: "tests"}
)

// harness is a registry on a database with users 1 to 9, and a clock that the test sets.
type harness struct {
	*partner.Store
	now time.Time
}

func open(t *testing.T) *harness {
	t.Helper()
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	d := &harness{now: noon}
	d.Store = &partner.Store{DB: sqldbtest.Open(t), Sealer: box, Now: func() time.Time { return d.now }}
	accounts := &account.Store{DB: d.DB, Now: d.Now}
	for id := range int64(9) {
		u, _, err := accounts.Create(t.Context(), operator, account.Person{Email: fmt.Sprintf("user%d@example.com", id+1)})
		if err != nil || u.ID != id+1 {
			t.Fatalf("user %d has the id %d, %v", id+1, u.ID, err)
		}
	}
	return d
}

func (d *harness) create(t *testing.T, draft partner.Draft) (partner.Partner, partner.Credentials) {
	t.Helper()
	p, c, err := d.tryCreate(t, draft, partner.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	return p, c
}

func (d *harness) tryCreate(t *testing.T, draft partner.Draft, given partner.Credentials) (p partner.Partner, c partner.Credentials, err error) {
	t.Helper()
	err = d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		p, c, err = d.Create(t.Context(), tx, operator, draft, given)
		return err
	})
	return p, c, err
}

func (d *harness) amend(t *testing.T, id int64, c partner.Change) (p partner.Partner, err error) {
	t.Helper()
	err = d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		p, _, err = d.Amend(t.Context(), tx, operator, id, c)
		return err
	})
	return p, err
}

// entries returns the audit entries about a subject, oldest first.
func (d *harness) entries(t *testing.T, subject string) []audit.Entry {
	t.Helper()
	l := audit.Log{DB: d.DB}
	list, _, err := l.List(t.Context(), audit.Filter{Subject: subject}, paging.Page{Number: 1, Limit: 100, Order: paging.OldestFirst})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestCreate(t *testing.T) {
	d := open(t)
	p, c := d.create(t, partner.Draft{Name: "  Acme GmbH ", Strict: true})
	want := partner.Partner{
		ID: p.ID, Name: "Acme GmbH", Brand: partner.DefaultBrand, ClientID: c.ClientID,
		Strict: true, CreatedAt: noon, UpdatedAt: noon,
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
	got, err := d.Get(t.Context(), p.ID)
	if err != nil || got != p {
		t.Errorf("Get = %+v, %v; want %+v", got, err, p)
	}
	if raw, err := hex.DecodeString(c.ClientID); err != nil || len(raw) != 16 {
		t.Errorf("the client id %q is not 16 bytes in hex", c.ClientID)
	}
	for value, prefix := range map[string]string{c.ClientSecret: "cs_", c.APIKey: "lk_", c.WebhookSecret: "whsec_"} {
		if !strings.HasPrefix(value, prefix) || len(value) < 40 {
			t.Errorf("the secret %q does not begin with %s or is short", value, prefix)
		}
	}
	if log := d.entries(t, "partner:1"); len(log) != 1 || log[0].Action != "partner.create" || log[0].Actor != operator || !strings.Contains(log[0].After, `"name":"Acme GmbH"`) {
		t.Errorf("audit: %+v", log)
	}
}

func TestCreateRefuses(t *testing.T) {
	d := open(t)
	for name, c := range map[string]struct {
		draft partner.Draft
		field string
	}{
		"no name":                  {partner.Draft{}, "name"},
		"spaces as name":           {partner.Draft{Name: "  "}, "name"},
		"long name":                {partner.Draft{Name: strings.Repeat("é", 101)}, "name"},
		"NUL in name":              {partner.Draft{Name: "a\x00"}, "name"},
		"turned round":             {partner.Draft{Name: "Ac\u202eme"}, "name"},
		"broken name":              {partner.Draft{Name: "a\xff"}, "name"},
		"webhooks: less than none": {partner.Draft{Name: "a", Webhooks: -1}, "webhook_concurrency"},
		"webhooks: too many":       {partner.Draft{Name: "a", Webhooks: partner.MaxWebhooks + 1}, "webhook_concurrency"},
		"brand: space":             {partner.Draft{Name: "a", Brand: "My Shop"}, "brand"},
		"brand: newline":           {partner.Draft{Name: "a", Brand: "a\r\nX"}, "brand"},
		"brand: umlaut":            {partner.Draft{Name: "a", Brand: "Müller"}, "brand"},
		"brand: too long":          {partner.Draft{Name: "a", Brand: strings.Repeat("b", 41)}, "brand"},
	} {
		_, _, err := d.tryCreate(t, c.draft, partner.Credentials{})
		if f := fault.Of(err); f == nil || f.Kind != fault.Unprocessable || f.Code != "invalid_field" || f.Field != c.field {
			t.Errorf("%s: %v, want invalid_field on %s", name, err, c.field)
		}
		if err := c.draft.Valid(); err == nil {
			t.Errorf("%s: Valid says nothing", name)
		}
	}
	if _, total, err := d.List(t.Context(), paging.First()); total != 0 || err != nil {
		t.Errorf("%d partners were made (%v)", total, err)
	}
}

func TestAmend(t *testing.T) {
	d := open(t)
	p, _ := d.create(t, partner.Draft{Name: "Acme", Brand: "Acme-1"})
	d.now = noon.Add(time.Hour)
	text := func(s string) *string { return &s }
	flag := func(b bool) *bool { return &b }

	same, err := d.amend(t, p.ID, partner.Change{Name: text(" Acme "), SingleKey: flag(false)})
	if err != nil || same != p {
		t.Errorf("a change that changes nothing: %+v, %v", same, err)
	}
	want := p
	want.Name, want.Strict, want.UpdatedAt = "Ajax", true, d.now
	got, err := d.amend(t, p.ID, partner.Change{Name: text("Ajax"), Strict: flag(true)})
	if err != nil || got != want {
		t.Errorf("Amend = %+v, %v; want %+v", got, err, want)
	}
	if got, err := d.Get(t.Context(), p.ID); err != nil || got != want {
		t.Errorf("Get = %+v, %v; want %+v", got, err, want)
	}
	for name, c := range map[string]struct {
		change partner.Change
		id     int64
		code   string
	}{
		"long overlap":    {partner.Change{SingleKey: flag(true), Overlap: partner.MaxOverlap + 1}, p.ID, "invalid_field"},
		"bad name":        {partner.Change{Name: text("")}, p.ID, "invalid_field"},
		"bad brand":       {partner.Change{Brand: text("ä")}, p.ID, "invalid_field"},
		"unknown partner": {partner.Change{Name: text("x")}, 99, "unknown_partner"},
	} {
		if _, err := d.amend(t, c.id, c.change); !fault.Is(err, c.code) {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	if err := (partner.Change{Brand: text("ä")}).Valid(); !fault.Is(err, "invalid_field") {
		t.Errorf("Valid = %v", err)
	}
	if err := (partner.Change{SingleKey: flag(true)}).Valid(); err != nil {
		t.Errorf("Valid knows nothing of the partner's single key, and says %v", err)
	}
	log := d.entries(t, "partner:1")
	if len(log) != 2 || log[1].Action != "partner.update" || !strings.Contains(log[1].Before, `"Acme"`) || !strings.Contains(log[1].After, `"Ajax"`) {
		t.Errorf("audit: %+v", log)
	}
}

func TestGetUnknown(t *testing.T) {
	d := open(t)
	_, err := d.Get(t.Context(), 1)
	if f := fault.Of(err); f == nil || f.Kind != fault.Missing || f.Code != "unknown_partner" {
		t.Errorf("Get = %v", err)
	}
}

func TestList(t *testing.T) {
	d := open(t)
	for _, name := range []string{"one", "two", "three"} {
		d.create(t, partner.Draft{Name: name})
	}
	for _, c := range []struct {
		page paging.Page
		want []string
	}{
		{paging.First(), []string{"three", "two", "one"}},
		{paging.Page{Number: 2, Limit: 2}, []string{"one"}},
		{paging.Page{Number: 1, Limit: 2, Order: paging.OldestFirst}, []string{"one", "two"}},
		{paging.Page{Number: 9, Limit: 2}, nil},
	} {
		list, total, err := d.List(t.Context(), c.page)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range list {
			got = append(got, p.Name)
		}
		if diff := cmp.Diff(c.want, got); diff != "" || total != 3 {
			t.Errorf("page %+v: total %d, want 3; (-want +got):\n%s", c.page, total, diff)
		}
	}
}
