package devserver

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"claviger/internal/app"
	"claviger/internal/courier"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/wire"
	claviger "claviger/sdk/go"
)

//go:embed templates
var files embed.FS

// The paths of the sample application.
const (
	samplePath   = "/dev/partner"
	webhookPath  = samplePath + "/webhook"
	callbackPath = samplePath + "/callback"
	loginPath    = samplePath + "/login"
)

// sample is a partner's application for developers without one. It receives webhooks, connects
// buyers, and shows what arrived. It runs in the process of the service, but calls it like any
// partner, over HTTP with its credentials.
type sample struct {
	pages       *ui.Pages
	url         string // of the service
	name        string
	credentials partner.Credentials
	client      *http.Client
	now         func() time.Time // the clock of the service
	faults      *faults

	// secrets returns the current signing secrets of webhooks, so that the sample survives a
	// rotation.
	secrets func(context.Context) ([]string, error)

	mu  sync.Mutex
	got []delivery // newest first
}

// maxDeliveries is the number of deliveries that the sample stores.
const maxDeliveries = 100

// delivery is a webhook that arrived, with the members that the page shows.
type delivery struct {
	At         time.Time `json:"-"`
	ID         string    `json:"-"`
	LicenseKey string    `json:"license_key"`
	Event      string    `json:"event"`
	Status     string    `json:"license_status"`
	Tier       int       `json:"tier"`
	PlanName   string    `json:"partner_plan_name"`
	Reason     string    `json:"reason"`
	Test       bool      `json:"test"`
}

func (s *sample) routes() []wire.Route {
	return []wire.Route{
		pageRoute(s.pages, samplePath, s.home),
		wire.Public(http.MethodGet, samplePath+"/app.css", s.style),
		pageRoute(s.pages, loginPath, s.login),
		pageRoute(s.pages, callbackPath, s.callback),
		wire.Public(http.MethodPost, webhookPath, s.webhook),
	}
}

// pageRoute returns the route of a page; its errors are pages, too.
func pageRoute(pages *ui.Pages, path string, h func(http.ResponseWriter, *http.Request) error) wire.Route {
	rt := wire.Public(http.MethodGet, path, func(w http.ResponseWriter, r *http.Request) error {
		if err := h(w, r); err != nil {
			pages.Fail(w, r, err)
		}
		return nil
	})
	rt.Other = pages.WrongMethod
	return rt
}

// webhook receives an event as documented in docs/webhooks.md.
func (s *sample) webhook(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		return fault.New(fault.Invalid, wire.CodeInvalidBody, "The body could not be read.")
	}
	secrets, err := s.secrets(r.Context())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(secrets, func(secret string) bool {
		return claviger.VerifyWebhook(secret, r.Header, body, app.Now()) == nil
	}) {
		return wire.JSON(w, http.StatusUnauthorized, refusal{Message: "wrong signature"})
	}
	d := delivery{At: s.now(), ID: r.Header.Get(courier.HeaderID)}
	if err := json.Unmarshal(body, &d); err != nil {
		return fault.New(fault.Invalid, wire.CodeInvalidBody, "The body is not a license event.")
	}
	s.store(d)
	return wire.JSON(w, http.StatusOK, taken{Success: true, Event: d.Event})
}

type taken struct {
	Success bool   `json:"success"`
	Event   string `json:"event"`
}

type refusal struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
}

func (s *sample) store(d delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = slices.Insert(s.got, 0, d)
	s.got = s.got[:min(len(s.got), maxDeliveries)]
}

// deliveries returns the deliveries so far, newest first.
func (s *sample) deliveries() []delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// samplePage is the only page of the sample. It shares nothing with the marketplace's pages:
// redirected users must see that it is another application.
var samplePage = template.Must(template.ParseFS(files, "templates/sample/page.html"))

// style serves the style sheet of the sample.
func (s *sample) style(w http.ResponseWriter, _ *http.Request) error {
	text, err := files.ReadFile("templates/sample/app.css")
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	_, err = w.Write(text)
	return err
}

// sampleView is the content of the sample's pages.
type sampleView struct {
	Title    string
	Name     string
	Login    string
	Welcome  *welcome // the user just connected; nil: none
	Problem  string   // why connecting failed; "": it did not
	Arrived  []delivery
	Shop     string
	Callback bool   // the callback was opened
	Faults   string // active faults of claviger dev; "": none
}

func (s *sample) home(w http.ResponseWriter, _ *http.Request) error {
	return s.show(w, http.StatusOK, sampleView{})
}

// show renders the page.
func (s *sample) show(w http.ResponseWriter, status int, v sampleView) error {
	v.Title, v.Name, v.Login, v.Shop, v.Arrived = s.name, s.name, s.url+loginPath, s.url+"/", s.deliveries()
	v.Faults = s.faults.banner()
	if v.Welcome != nil {
		v.Title = "Welcome to " + s.name
	}
	var page bytes.Buffer
	if err := samplePage.Execute(&page, v); err != nil {
		return fmt.Errorf("show the sample application: %w", err)
	}
	s.pages.Headers(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, err := page.WriteTo(w)
	return err
}
