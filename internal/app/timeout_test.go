package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb/sqldbtest"
)

// impatient serves without jobs, with short waits of requests for the database, which a proxy leads to.
// It returns a function that sends a request with all rights.
func impatient(t *testing.T) (
	h *apptest.Harness, proxy *sqldbtest.Proxy, send func(method, path, body string, header ...string) apptest.Answer,
) {
	t.Helper()
	if !sqldbtest.Postgres() {
		t.Skip("SQLite is a part of the process")
	}
	proxy = sqldbtest.NewProxy(t, sqldbtest.URL(t))
	h = apptest.New(t, func(c *app.Config) { c.DB, c.DBTimeout, c.DBJobTimeout = proxy.URL, time.Second, time.Minute })
	p, _ := h.Partner("Tide Planner", profile.URLs{})
	h.Plans(p.ID, 3, partner.Plan{})
	token := h.Token("all", account.Read, account.Sell, account.Support, account.Admin)
	h.Serve()
	return h, proxy, func(method, path, body string, header ...string) apptest.Answer {
		t.Helper()
		if strings.HasPrefix(body, "{") {
			header = append(header, "Content-Type: application/json")
		}
		header = append(header, "Authorization: Bearer "+token)
		return apptest.Send(t, http.DefaultClient, method, "http://"+h.App.Addr()+path, body, header...)
	}
}

// TestLostCommit: the database commits, and the answer to that is lost. The request is answered with 503,
// and a repeat gets the answer that the first would have got.
func TestLostCommit(t *testing.T) {
	h, proxy, send := impatient(t)
	const purchases = "/operator/v1/purchases"
	first := send("POST", purchases, `{"partner_id":1,"tier":1,"external_id":"first"}`)
	var sold struct {
		Licenses struct {
			Items []struct {
				Key string `json:"license_key"`
			} `json:"items"`
		} `json:"licenses"`
	}
	first.Into(t, &sold)
	key := sold.Licenses.Items[0].Key
	for name, try := range map[string]struct {
		path, body, counted string
		header              []string
	}{
		"external_id": {purchases, `{"partner_id":1,"tier":2,"external_id":"order"}`, "purchases", nil},
		"key":         {purchases, `{"partner_id":1,"tier":2}`, "purchases", []string{"Idempotency-Key: order"}},
		"refund":      {"/operator/v1/refunds", `{"license_key":"` + key + `"}`, "refunds", []string{"Idempotency-Key: back"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := h.Count(`SELECT count(*) FROM ` + try.counted)
			proxy.LoseCommit()
			lost := send("POST", try.path, try.body, try.header...)
			if lost.Status != http.StatusServiceUnavailable || lost.Header.Get("Retry-After") == "" {
				t.Fatalf("answered %d %s, Retry-After %q", lost.Status, lost.Body, lost.Header.Get("Retry-After"))
			}
			repeat := func() (a apptest.Answer) {
				for a = lost; a.Status == http.StatusServiceUnavailable; { // as slow as this machine may be
					a = send("POST", try.path, try.body, try.header...)
				}
				return a
			}
			again := repeat()
			if again.Status != http.StatusCreated || repeat().Body != again.Body {
				t.Errorf("the repeat is answered %d: %s", again.Status, again.Body)
			}
			if n := h.Count(`SELECT count(*) FROM `+try.counted) - before; n != 1 {
				t.Errorf("it was done %d times", n)
			}
		})
	}
}

// TestTimeouts makes statements slow. A request gets 503 after db-timeout. An import, a bulk job and a
// batch may wait longer.
func TestTimeouts(t *testing.T) {
	h, _, send := impatient(t)
	const purchases = "/operator/v1/purchases"
	h.Buy(license.Purchase{PartnerID: 1, Tier: 1, Quantity: 1, Buyer: &account.Person{Email: "ann@example.com"}})
	h.Exec(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_sleep(1.5); RETURN NEW; END $$`)
	h.Exec(`CREATE TRIGGER slow BEFORE INSERT OR UPDATE ON licenses FOR EACH ROW EXECUTE FUNCTION slow()`)
	h.Exec(`CREATE TRIGGER slow BEFORE INSERT ON bulk_jobs FOR EACH ROW EXECUTE FUNCTION slow()`)
	for name, try := range map[string]struct{ path, body, header string }{
		"import": {
			"/operator/v1/import", "license_key,partner_id,tier,status,email,sold_at\n" +
				"3f2c1b4e-8a6d-4c7f-9b0e-5d1a2c3b4f60,1,1,inactive,bob@example.com,2024-05-31\n", "Content-Type: text/csv",
		},
		"batch": {purchases + "/batch", `[{"partner_id":1,"tier":1,"external_id":"b"}]`, "Content-Type: application/json"},
		"bulk": {
			"/operator/v1/bulk", `{"act":"hold","kind":"licenses","reason":"chargeback","filter":{"partner_id":1}}`,
			"Content-Type: application/json",
		},
	} {
		if a := send("POST", try.path, try.body, try.header); a.Status/100 != 2 || strings.Contains(a.Body, "unavailable") {
			t.Errorf("%s is answered %d: %s", name, a.Status, a.Body)
		}
	}
	a := send("POST", purchases, `{"partner_id":1,"tier":1,"external_id":"order"}`)
	if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || a.Code() != "unavailable" {
		t.Errorf("a purchase is answered %d: %s", a.Status, a.Body)
	}
	if n := h.Count(`SELECT count(*) FROM purchases WHERE external_id = 'order'`); n != 0 {
		t.Error("a purchase that the server ended is stored")
	}
}
