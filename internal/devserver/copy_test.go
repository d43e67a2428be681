package devserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/devserver"
	"claviger/internal/sqldb/sqldbtest"
)

// notCopied are paths with answers about the process or the moment, or that need a parameter.
// Exports have the rows of the lists.
var notCopied = regexp.MustCompile(`openapi\.json|/exports/|/settings$|/jobs$|/today$|/estimate$|/search$|/refunds/|/users/\{id\}/|/purchases/\{id\}|/orders/\{id\}|/refund-requests/\{id\}|\{(run_id|redelivery_id|attempt_id)\}|/bulk/\{id\}|/payouts/\{id\}|\{number\}|/endpoint$|/redeliver$|/event-kinds$|/partners/\{id\}$`)

// used matches the last use of a secret: the test itself uses them.
var used = regexp.MustCompile(`"last_used_at":"[^"]*"`)

// lists reads every list of both APIs from a service on a database, without its jobs.
func lists(t *testing.T, db, key string, card devserver.Card, license string) map[string]string {
	t.Helper()
	cfg := app.Defaults(app.Dev)
	cfg.Addr, cfg.DB, cfg.PublicURL, cfg.SecretKey = "127.0.0.1:0", db, "http://dev.example", key
	cfg.Log = config(db).App.Log
	service, err := app.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- service.Serve(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	found := map[string]string{}
	for file, secret := range map[string]string{"../operator/openapi.json": card.OperatorToken, "../api/openapi.json": card.Partner.APIKey} {
		for _, path := range lookUps(t, file) {
			to := strings.NewReplacer("{id}", "1", "{key}", license, "{license_key}", license, "{tier}", "2", "{event_id}", "1").Replace(path)
			a := apptest.Send(t, http.DefaultClient, "GET", "http://"+service.Addr()+to, "", "Authorization: Bearer "+secret)
			if a.Status != http.StatusOK {
				t.Errorf("%s answered %d: %s", to, a.Status, a.Body)
			}
			found[to] = used.ReplaceAllString(a.Body, "")
		}
	}
	return found
}

// lookUps returns the paths of a description that can be requested.
func lookUps(t *testing.T, file string) (paths []string) {
	t.Helper()
	text, err := os.ReadFile(file) //nolint:gosec // a file of the project
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	for path, methods := range described.Paths {
		if methods["get"] != nil && !notCopied.MatchString(path) {
			paths = append(paths, path)
		}
	}
	return slices.Sorted(slices.Values(paths))
}

// TestCopiedMarketplace: a marketplace that moves to the other database, and from there to a third,
// answers every list of both APIs with the same bytes.
func TestCopiedMarketplace(t *testing.T) {
	dir, key := t.TempDir(), strings.Repeat("7a", 32)
	first, second, third := filepath.Join(dir, "first.db"), sqldbtest.Empty(t), filepath.Join(dir, "third.db")
	card, license := trade(t, first, key)
	cfg := app.Defaults(app.Serve)
	cfg.DrainDelay = new(time.Duration)
	cfg.SecretKey, cfg.Log = key, config(first).App.Log
	want := lists(t, first, key, card, license)
	if !strings.Contains(want["/v2/licenses"], license) || !strings.Contains(want["/operator/v1/licenses/"+license+"/webhook-responses"], `"success":true`) {
		t.Errorf("nothing was sold and delivered: %s", want["/v2/licenses"])
	}
	for _, way := range [][2]string{{first, second}, {second, third}} {
		if _, _, err := app.Copy(t.Context(), cfg, way[0], way[1], nil); err != nil {
			t.Fatal(err)
		}
		got := lists(t, way[1], key, card, license)
		for _, path := range slices.Sorted(maps.Keys(want)) {
			if diff := cmp.Diff(want[path], got[path]); diff != "" {
				t.Errorf("%s (-before +after)\n%s", path, diff)
			}
		}
		cfg.DB = way[0]
		if _, err := app.New(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "cannot be used: its data was moved to ") {
			t.Errorf("the old database is served: %v", err)
		}
	}
	if len(want) < 40 {
		t.Errorf("only %d lists were compared", len(want))
	}
}

// trade seeds a marketplace, and sells, activates, holds and refunds licenses. It returns the key
// of an activated one.
func trade(t *testing.T, db, key string) (devserver.Card, string) {
	t.Helper()
	taken := make(chan struct{}, 100)
	endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { taken <- struct{}{} }))
	defer endpoint.Close()
	cfg := config(db)
	cfg.App.SecretKey, cfg.Webhook = key, endpoint.URL
	e, err := devserver.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	do := func(path, body string, into any) {
		t.Helper()
		a := apptest.Send(t, http.DefaultClient, "POST", "http://"+e.Addr()+"/operator/v1"+path, body, "Authorization: Bearer "+e.Card().OperatorToken, "Content-Type: application/json")
		if a.Status > 299 {
			t.Fatalf("%s answered %d: %s", path, a.Status, a.Body)
		}
		if into != nil {
			a.Into(t, into)
		}
	}
	var keys []string
	events := 0
	for i := range 12 {
		var sold struct {
			Licenses struct {
				Items []struct {
					Key string `json:"license_key"`
				}
			}
		}
		do("/purchases", fmt.Sprintf(`{"partner_id":1,"tier":%d,"external_id":"order-%d","user":{"email":"buyer%d@example.com"},"amount_cents":4900,"currency":"EUR"}`, i%3+1, i, i%5), &sold)
		keys = append(keys, sold.Licenses.Items[0].Key)
		events++
	}
	for _, act := range []string{keys[0] + "/activate", keys[1] + "/activate", keys[2] + "/activate", keys[3] + "/hold", keys[2] + "/release"} {
		do("/licenses/"+act, `{}`, nil)
		events++
	}
	do("/refunds", `{"license_key":"`+keys[5]+`","external_id":"refund-1","reason":"not wanted"}`, nil)
	events++
	for range events {
		<-taken
	}
	stop() // uses are recorded before it ends
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return e.Card(), keys[0]
}
