// Command go is a complete partner application in one file. It uses only the standard library.
//
// It verifies webhooks, stores the licenses in them, and connects buyers: they return from the
// marketplace with a code, which it exchanges for their license. Start it beside `claviger dev`,
// which prints the values:
//
//	export MARKET_URL=… CLIENT_ID=… CLIENT_SECRET=… WEBHOOK_SECRET=…
//	REDIRECT_URL=http://127.0.0.1:3000/callback DATABASE=licenses.json PORT=3000 go run main.go
//
// Your application already has accounts and a database: use them instead of store and the cookie.
package main

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// setting returns a required environment variable; without it the program does not start.
func setting(name string) string {
	value := os.Getenv(name)
	if value == "" {
		log.Fatalf("set %s in the environment; the beginning of main.go says how", name)
	}
	return value
}

// license is the state of a license, and its account.
type license struct {
	Key     string `json:"license_key"`
	Status  string `json:"status"`
	Tier    int    `json:"tier"`
	EventID int64  `json:"event_id"`
	Account string `json:"account"` // "": none
}

// event is the part of a webhook's body that this program uses.
type event struct {
	Key     string `json:"license_key"`
	Status  string `json:"license_status"`
	Tier    int    `json:"tier"`
	EventID int64  `json:"event_id"`
	Reason  string `json:"reason"`
	Test    bool   `json:"test"`
}

// store is a file with all licenses, rewritten before a webhook is answered.
type store struct {
	file string

	mu       sync.Mutex
	licenses map[string]license
}

func openStore(file string) (*store, error) {
	s := &store{file: file, licenses: map[string]license{}}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	return s, json.Unmarshal(text, &s.licenses)
}

// save writes a license. The caller holds the lock.
func (s *store) save(l license) error {
	next := maps.Clone(s.licenses)
	next[l.Key] = l
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.file+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(s.file+".new", s.file); err != nil {
		return err
	}
	s.licenses = next
	return nil
}

// apply applies an event. An event that is not newer than the stored state changes nothing, so
// events may come twice and in any order. A license that its buyer gave up, or lost to another one,
// belongs to no account until it is connected again.
func (s *store) apply(e event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.licenses[e.Key]
	if known && e.EventID <= old.EventID {
		return nil
	}
	l := license{Key: e.Key, Status: e.Status, Tier: e.Tier, EventID: e.EventID, Account: old.Account}
	if slices.Contains([]string{"released", "transferred", "user_erased"}, e.Reason) {
		l.Account = ""
	}
	return s.save(l)
}

// connect connects a license with an account. Its webhook has usually arrived before; if not, the
// marketplace's answer is used until it arrives.
func (s *store) connect(account string, l license) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.EventID = 0
	if known, ok := s.licenses[l.Key]; ok {
		l = known
	}
	l.Account = account
	return s.save(l)
}

// best returns the account's license with the most rights.
func (s *store) best(account string) (license, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var own []license
	for _, l := range s.licenses {
		if account != "" && l.Account == account {
			own = append(own, l)
		}
	}
	if len(own) == 0 {
		return license{}, false
	}
	return slices.MaxFunc(own, func(a, b license) int {
		if (a.Status == "active") != (b.Status == "active") {
			return cmp.Compare(b.Status, a.Status) // active is first in the alphabet
		}
		return a.Tier - b.Tier
	}), true
}

var (
	errSignature = errors.New("the webhook is not signed with this secret, or its time is not within five minutes " +
		"of now")
	errSecret = errors.New("the webhook secret is empty or damaged; set it as it was shown to you, whsec_ included")
)

func verifyWebhook(secret string, h http.Header, body []byte, now time.Time) error {
	key, err := []byte(secret), error(nil) // where the API key is the secret, its text is the key
	if text, ok := strings.CutPrefix(secret, "whsec_"); ok {
		key, err = base64.StdEncoding.DecodeString(text)
	}
	if len(key) == 0 || err != nil {
		return errSecret
	}
	id, timestamp := h.Get("webhook-id"), h.Get("webhook-timestamp")
	sec, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(sec, 0)).Abs() > 5*time.Minute {
		return errSignature
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	want := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	if !slices.ContainsFunc(strings.Split(h.Get("webhook-signature"), " "), func(one string) bool {
		return hmac.Equal([]byte(one), want)
	}) {
		return errSignature
	}
	return nil
}

// application handles the requests.
type application struct {
	market, clientID, clientSecret, webhookSecret, redirectURL string

	store  *store
	client http.Client
}

// webhook stores an event. If it fails, the marketplace sends the event again.
func (a *application) webhook(w http.ResponseWriter, r *http.Request) {
	answer := func(status int, success bool) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"success":%t}`, success)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil || verifyWebhook(a.webhookSecret, r.Header, body, time.Now()) != nil {
		answer(http.StatusUnauthorized, false)
		return
	}
	var e event
	if err = json.Unmarshal(body, &e); err == nil && !e.Test {
		err = a.store.apply(e)
	}
	if err != nil {
		log.Printf("the event is not stored: %v", err)
		answer(http.StatusInternalServerError, false)
		return
	}
	answer(http.StatusOK, true)
}

func (a *application) home(w http.ResponseWriter, r *http.Request) {
	l, ok := a.store.best(cookie(r, "account"))
	switch {
	case !ok:
		page(w, http.StatusOK, "No license is connected.", "/connect")
	case l.Status == "active":
		page(w, http.StatusOK, fmt.Sprintf("License %s is active: you have what tier %d promises.", l.Key, l.Tier), "")
	default:
		page(w, http.StatusOK, fmt.Sprintf("License %s is %s: it gives you nothing now.", l.Key, l.Status), "")
	}
}

// connect starts the connection for buyers who begin here, not with Activate at the marketplace.
func (a *application) connect(w http.ResponseWriter, r *http.Request) {
	state := random()
	query := url.Values{
		"response_type": {"code"}, "client_id": {a.clientID}, "redirect_uri": {a.redirectURL},
		"scope": {"openid"}, "state": {state},
	}
	a.redirect(w, r, a.market+"/openid/authorize?"+query.Encode(), "state", state)
}

// callback handles returning buyers. A state must belong to this browser; without one they began at
// the marketplace.
func (a *application) callback(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case query.Has("error"):
		page(w, http.StatusOK, "You did not connect a license.", "/connect")
		return
	case query.Get("code") == "":
		page(w, http.StatusOK, "The marketplace sends buyers here.", "/connect")
		return
	case query.Has("state") && query.Get("state") != cookie(r, "state"):
		page(w, http.StatusBadRequest, "This answer is not for this browser. Begin again.", "/connect")
		return
	}
	l, err := a.licenseOf(r.Context(), query.Get("code"))
	if err != nil {
		log.Printf("the code was not exchanged: %v", err)
		page(w, http.StatusBadRequest, "The license could not be connected. Begin again.", "/connect")
		return
	}
	account := cmp.Or(cookie(r, "account"), random())
	if err := a.store.connect(account, l); err != nil {
		log.Printf("the license is not stored: %v", err)
		page(w, http.StatusInternalServerError, "Something failed.", "")
		return
	}
	a.redirect(w, r, "/", "account", account)
}

// licenseOf exchanges a code for tokens, and a token for the license that the buyer connects.
func (a *application) licenseOf(ctx context.Context, code string) (l license, err error) {
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {a.redirectURL},
		"client_id": {a.clientID}, "client_secret": {a.clientSecret},
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.market+"/openid/token/",
		strings.NewReader(form.Encode()))
	if err != nil {
		return l, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var tokens struct {
		AccessToken string `json:"access_token"`
	}
	if err := a.ask(r, &tokens); err != nil {
		return l, err
	}
	r, err = http.NewRequestWithContext(ctx, http.MethodGet, a.market+"/openid/license_key/", http.NoBody)
	if err != nil {
		return l, err
	}
	r.Header.Set("Authorization", "Bearer "+tokens.AccessToken)
	return l, a.ask(r, &l)
}

// ask decodes an answer of the marketplace, which must be 200.
func (a *application) ask(r *http.Request, out any) error {
	resp, err := a.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // It was read.
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %d: %s", r.URL.Path, resp.StatusCode, text)
	}
	return json.Unmarshal(text, out)
}

func (a *application) redirect(w http.ResponseWriter, r *http.Request, to, name, value string) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: strings.HasPrefix(a.redirectURL, "https:"),
	})
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func page(w http.ResponseWriter, status int, text, link string) {
	if link != "" {
		link = `<p><a href="` + link + `">Connect a license</a></p>`
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><title>Sample application</title>`+
		`<h1>Sample application</h1><p>%s</p>%s`,
		html.EscapeString(text), link)
}

func cookie(r *http.Request, name string) string {
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// random returns a name that cannot be guessed.
func random() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

func main() {
	s, err := openStore(setting("DATABASE"))
	if err != nil {
		log.Fatal(err)
	}
	a := &application{
		market: setting("MARKET_URL"), clientID: setting("CLIENT_ID"), clientSecret: setting("CLIENT_SECRET"),
		webhookSecret: setting("WEBHOOK_SECRET"), redirectURL: setting("REDIRECT_URL"),
		store: s, client: http.Client{Timeout: 10 * time.Second},
	}
	if err := verifyWebhook(a.webhookSecret, http.Header{}, nil, time.Now()); errors.Is(err, errSecret) {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /webhook", a.webhook)
	mux.HandleFunc("GET /{$}", a.home)
	mux.HandleFunc("GET /connect", a.connect)
	mux.HandleFunc("GET /callback", a.callback)
	server := &http.Server{
		Addr: "127.0.0.1:" + setting("PORT"), Handler: mux, ReadTimeout: 10 * time.Second,
		WriteTimeout: 30 * time.Second,
	}
	log.Fatal(server.ListenAndServe())
}
