package profile_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/audit"
	"claviger/internal/courier"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// read reads a profile within a transaction, like other packages.
func (d *harness) read(t *testing.T, id int64) (p profile.Profile, err error) {
	t.Helper()
	return p, d.DB.Read(t.Context(), func(tx *sqldb.Tx) (err error) {
		p, err = d.Read(t.Context(), tx, id)
		return err
	})
}

func TestConnect(t *testing.T) {
	d := open(t, private)
	p, first := d.enrol(t, profile.URLs{Webhook: "https://old.example/hook", Redirect: "https://old.example/cb"})
	d.now = noon.Add(time.Hour)
	want := first
	want.InitiateLoginURI, want.UpdatedAt = "https://acme.example/login?from=us", d.now
	got, _, err := d.Connect(t.Context(), itself, p.ID, profile.Connection{InitiateLoginURI: text(" https://acme.example/login?from=us ")})
	if got != want || err != nil {
		t.Errorf("Connect = %+v, %v; want %+v", got, err, want)
	}
	d.now = noon.Add(2 * time.Hour)
	want.IDTokenAlg, want.NoErrorMember, want.UpdatedAt = profile.ES256, true, d.now
	if got, _, err := d.Connect(t.Context(), itself, p.ID, profile.Connection{IDTokenAlg: text("ES256"), NoErrorMember: new(true)}); got != want || err != nil {
		t.Errorf("Connect = %+v, %v; want %+v", got, err, want)
	}
	d.now = noon.Add(3 * time.Hour)
	if got, _, err := d.Connect(t.Context(), itself, p.ID, profile.Connection{IDTokenAlg: text("ES256")}); got != want || err != nil {
		t.Errorf("the same again: %+v, %v; want %+v", got, err, want)
	}
	if stored, err := d.read(t, p.ID); stored != want || err != nil {
		t.Errorf("Read = %+v, %v; want %+v", stored, err, want)
	}
	want.InitiateLoginURI, want.UpdatedAt = "", d.now
	if got, _, err := d.Connect(t.Context(), itself, p.ID, profile.Connection{InitiateLoginURI: text("")}); got != want || err != nil {
		t.Errorf("unset: %+v, %v; want %+v", got, err, want)
	}
	if d.calls.Load() != 0 {
		t.Error("a URL was called though only the connection changed")
	}
	wantLog := []string{"partner.create", "profile.urls", "profile.connection", "profile.connection", "profile.connection"}
	if diff := cmp.Diff(wantLog, d.actions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
	if _, err := d.read(t, 99); !fault.Is(err, "unknown_partner") {
		t.Errorf("Read of an unknown partner: %v", err)
	}
}

func TestConnectRefuses(t *testing.T) {
	d := open(t, courier.Options{})
	p, before := d.enrol(t, profile.URLs{})
	for name, c := range map[string]struct {
		change profile.Connection
		code   string
		field  string
	}{
		"not a URL":      {profile.Connection{InitiateLoginURI: text("login"), IDTokenAlg: text("ES256")}, "invalid_url", "initiate_login_uri"},
		"not https":      {profile.Connection{InitiateLoginURI: text("http://acme.example/")}, "invalid_url", "initiate_login_uri"},
		"unsigned":       {profile.Connection{IDTokenAlg: text("none"), NoErrorMember: new(true)}, "invalid_field", "id_token_alg"},
		"no alg":         {profile.Connection{IDTokenAlg: text("")}, "invalid_field", "id_token_alg"},
		"lower-case alg": {profile.Connection{IDTokenAlg: text("es256")}, "invalid_field", "id_token_alg"},
	} {
		_, _, err := d.Connect(t.Context(), itself, p.ID, c.change)
		if f := fault.Of(err); f == nil || f.Kind != fault.Unprocessable || f.Code != c.code || f.Field != c.field {
			t.Errorf("%s: %v, want %s on %s", name, err, c.code, c.field)
		}
	}
	if _, _, err := d.Connect(t.Context(), itself, 99, profile.Connection{NoErrorMember: new(true)}); !fault.Is(err, "unknown_partner") {
		t.Errorf("unknown partner: %v", err)
	}
	if after, _ := d.get(t, p.ID); after != before {
		t.Errorf("refused changes left %+v, want %+v", after, before)
	}
}

// TestSetAll checks that URLs and connection are one change, saved together or not at all, and
// audited separately.
func TestSetAll(t *testing.T) {
	d := open(t, private)
	p, before := d.enrol(t, profile.URLs{})
	connection := profile.Connection{InitiateLoginURI: text("https://acme.example/login"), IDTokenAlg: text("ES256")}
	change := profile.URLChange{Redirect: text(d.app + "/gone"), Connection: connection}
	if _, _, _, err := d.SetURLs(t.Context(), itself, p.ID, change); !fault.Is(err, "url_check_failed") {
		t.Errorf("a redirect URL that does not work: %v", err)
	}
	if after, _ := d.get(t, p.ID); after != before {
		t.Errorf("a refused change left %+v, want %+v", after, before)
	}
	change.Redirect = text(d.app + "/ok")
	got, _, _, err := d.SetURLs(t.Context(), itself, p.ID, change)
	if err != nil || got.RedirectURL != d.app+"/ok" || got.InitiateLoginURI != "https://acme.example/login" || got.IDTokenAlg != "ES256" {
		t.Errorf("SetURLs = %+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"partner.create", "profile.urls", "profile.connection"}, d.actions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

func TestEnrolConnected(t *testing.T) {
	d := open(t, private)
	p, got, _, err := d.Enrol(t.Context(), operator, partner.Draft{Name: "Acme"},
		profile.URLs{Connection: profile.Connection{IDTokenAlg: text("ES256"), NoErrorMember: new(true)}}, false, partner.Credentials{})
	if err != nil || got.IDTokenAlg != "ES256" || !got.NoErrorMember {
		t.Fatalf("Enrol = %+v, %v", got, err)
	}
	if stored, err := d.read(t, p.ID); stored != got || err != nil {
		t.Errorf("Read = %+v, %v; want %+v", stored, err, got)
	}
	entries, _, err := (&audit.Log{DB: d.DB}).List(t.Context(), audit.Filter{Action: "profile.connection"}, paging.First())
	want := `{"error_member":false,"id_token_alg":"ES256","initiate_login_uri":""}`
	if err != nil || len(entries) != 1 || entries[0].Before != "" || entries[0].After != want {
		t.Errorf("audit: %+v, %v; want one entry with %s", entries, err, want)
	}
	_, _, _, err = d.Enrol(t.Context(), operator, partner.Draft{Name: "Acme"},
		profile.URLs{Connection: profile.Connection{IDTokenAlg: text("HS256")}}, false, partner.Credentials{})
	if !fault.Is(err, "invalid_field") {
		t.Errorf("a partner with another alg: %v", err)
	}
}
