package app_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// spans is a collector of traces.
type spans struct {
	mu   sync.Mutex
	list []*tracepb.Span
}

func (c *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		var zip *gzip.Reader
		if zip, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, err = io.ReadAll(zip)
		}
	}
	var got collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &got) != nil {
		http.Error(w, "not a trace", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range got.GetResourceSpans() {
		for _, s := range of.GetScopeSpans() {
			c.list = append(c.list, s.GetSpans()...)
		}
	}
}

// ids returns the traces of the spans with a name.
func (c *spans) ids(name string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []string
	for _, s := range c.list {
		if s.GetName() == name {
			list = append(list, hex.EncodeToString(s.GetTraceId()))
		}
	}
	return list
}

var inLog = regexp.MustCompile(`"trace_id":"([0-9a-f]{32})"`)

// TestTraces: a request joins its client's trace. A webhook has its own, which the partner
// receives. The log and the record of the attempt name both.
func TestTraces(t *testing.T) {
	const given = "4bf92f3577b34da6a3ce929d0e0e4736"
	collected := &spans{}
	server := httptest.NewServer(collected)
	t.Cleanup(server.Close)
	told := make(chan string, 1)
	application := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.Header.Get("Traceparent") }))
	t.Cleanup(application.Close)

	var h *apptest.Harness
	var parent string
	t.Run("run", func(t *testing.T) { // everything is sent at its end
		h = apptest.Start(t, func(c *app.Config) {
			cfg, _, err := app.Load(app.Serve, app.Sources{Flags: map[string]string{"otlp-endpoint": server.URL}})
			if err != nil {
				t.Fatal(err)
			}
			c.OTLPEndpoint = cfg.OTLPEndpoint
		})
		p, _ := h.Partner("App", profile.URLs{Webhook: application.URL})
		h.Plans(p.ID, 1, partner.Plan{})
		h.Buy(license.Purchase{PartnerID: p.ID, Tier: 1, Quantity: 1, Buyer: &account.Person{Email: "ann@example.com"}})
		parent = <-told
		h.Logged.Attempts().Next(t)
		answer := apptest.Send(t, http.DefaultClient, http.MethodGet, "http://"+h.App.Addr()+"/openid/jwks", "", "Traceparent: 00-"+given+"-00f067aa0ba902b7-01")
		if answer.Status != http.StatusOK {
			t.Fatalf("answered %d", answer.Status)
		}
		if n := h.Count(`SELECT count(*) FROM webhook_responses WHERE request_header LIKE $1`, "%"+parent+"%"); n != 1 {
			t.Errorf("%d records of attempts name the trace %s", n, parent)
		}
	})
	id, _, _ := strings.Cut(strings.TrimPrefix(parent, "00-"), "-")
	if got := collected.ids("webhook"); len(got) != 1 || got[0] != id || len(id) != 32 {
		t.Errorf("the webhook's traces are %q, and the partner was told %q", got, parent)
	}
	if got := collected.ids("GET /openid/jwks"); len(got) != 1 || got[0] != given {
		t.Errorf("the request's traces are %q", got)
	}
	var logged []string
	for _, m := range inLog.FindAllStringSubmatch(h.Logged.String(), -1) {
		logged = append(logged, m[1])
	}
	if strings.Join(logged, " ") != id+" "+given {
		t.Errorf("the log names the traces %q", logged)
	}
}

// TestNoTraces: without the setting nothing is traced, and partners get no trace.
func TestNoTraces(t *testing.T) {
	told := make(chan string, 1)
	application := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { told <- r.Header.Get("Traceparent") }))
	t.Cleanup(application.Close)
	h := apptest.Start(t)
	p, _ := h.Partner("App", profile.URLs{Webhook: application.URL})
	h.Plans(p.ID, 1, partner.Plan{})
	h.Buy(license.Purchase{PartnerID: p.ID, Tier: 1, Quantity: 1, Buyer: &account.Person{Email: "ann@example.com"}})
	if got := <-told; got != "" {
		t.Errorf("the partner was told of a trace: %s", got)
	}
	for _, wrong := range []string{"collector:4318", "grpc://collector:4317", "http://ann:pass@collector:4318"} {
		if _, _, err := app.Load(app.Serve, app.Sources{Flags: map[string]string{"otlp-endpoint": wrong}}); err == nil || !strings.Contains(err.Error(), "OTLP collector over HTTP") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
