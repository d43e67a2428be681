// Package fakestripe is a small Stripe with state: checkout sessions, payments, refunds, disputes
// and events. It answers the calls of package payment, simulates outages, and signs webhooks. Tests
// use it, and `dev` takes test money with it.
package fakestripe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"
)

// Object is the JSON of a Stripe object.
type Object map[string]any

// Text returns a string member, or "" if there is none.
func (o Object) Text(name string) string { s, _ := o[name].(string); return s }

// Server is the fake. The zero value is ready for use.
type Server struct {
	Secret string       // signs webhooks
	URL    string       // of its pages
	Send   func(Event)  // receives each event; nil: none is sent
	Broken func() bool  // while true, every call fails with 500; nil: never
	Now    func() int64 // Unix seconds; nil: the system clock

	// Allow gets the key of each call and returns 0, or the status that refuses the call. If nil,
	// every key is allowed.
	Allow func(key string) int

	// Refuse gets the path of each call and returns 0, or the status that refuses the call. If nil,
	// no call is refused.
	Refuse func(path string) int

	// Lose gets the path of each completed call and reports whether its answer is lost. If nil, no
	// answer is lost.
	Lose func(path string) bool

	// FeesLate hides the fees of payments, as if Stripe had not computed them yet.
	FeesLate bool

	mu       sync.Mutex
	last     int
	order    []string // ids of objects, oldest first
	objects  map[string]Object
	events   []Event
	answered map[string]answer // by idempotency key
	Calls    []string          // method and path, oldest first
}

type answer struct {
	form string
	id   string
}

// Event is a change as a webhook posts it.
type Event struct {
	ID   string
	Type string
	Body []byte
	at   int64
}

// Sign returns the signature header of a webhook with this body.
func (s *Server) Sign(body []byte) string {
	return webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: s.Secret}).Header
}

func (s *Server) now() int64 {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now().Unix()
}

// add stores a new object. The caller holds the lock.
func (s *Server) add(prefix string, o Object) Object {
	s.last++
	id := fmt.Sprintf("%s_test_%06d", prefix, s.last)
	if s.objects == nil {
		s.objects = map[string]Object{}
	}
	o["id"], o["created"], o["livemode"] = id, s.now(), false
	s.objects[id] = o
	s.order = append(s.order, id)
	return o
}

// happen records an event about an object in its current state. The caller holds the lock and sends
// the event after releasing it.
func (s *Server) happen(kind string, o Object) Event {
	s.last++
	e := Event{ID: fmt.Sprintf("evt_%06d", s.last), Type: kind, at: s.now()}
	e.Body, _ = json.Marshal(Object{ // cannot fail: maps of plain values
		"id": e.ID, "object": "event", "api_version": stripe.APIVersion, "created": e.at, "livemode": false,
		"type": kind,
		"data": Object{"object": o}, "pending_webhooks": 1,
	})
	s.events = append(s.events, e)
	return e
}

// do runs a change and then sends its events.
func (s *Server) do(change func() []Event) {
	s.mu.Lock()
	events := change()
	s.mu.Unlock()
	for _, e := range events {
		if s.Send != nil {
			s.Send(e)
		}
	}
}

// Events returns all events, oldest first.
func (s *Server) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Event(nil), s.events...)
}

// Objects returns copies of the objects with an id prefix, newest first.
func (s *Server) Objects(prefix string) []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Object
	for i := len(s.order) - 1; i >= 0; i-- {
		if strings.HasPrefix(s.order[i], prefix+"_") {
			c := Object{}
			for k, v := range s.objects[s.order[i]] {
				c[k] = v
			}
			list = append(list, c)
		}
	}
	return list
}

// ServeHTTP implements Stripe's API.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		fail(w, http.StatusBadRequest, "parameter_invalid")
		return
	}
	s.mu.Lock()
	s.Calls = append(s.Calls, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	if s.Broken != nil && s.Broken() {
		fail(w, http.StatusInternalServerError, "")
		return
	}
	if s.Allow != nil {
		if status := s.Allow(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); status != 0 {
			fail(w, status, "")
			return
		}
	}
	if s.Refuse != nil {
		if status := s.Refuse(r.URL.Path); status != 0 {
			fail(w, status, "")
			return
		}
	}
	path := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, "/v1"), "/"), "/")
	var o any
	var status int
	var code string
	s.do(func() (events []Event) {
		if r.Method == http.MethodPost {
			o, events, status, code = s.post(path, r)
			return events
		}
		o, status, code = s.get(path, r.Form)
		return nil
	})
	if status == 0 && s.Lose != nil && s.Lose(r.URL.Path) {
		status = http.StatusInternalServerError
	}
	if status != 0 {
		fail(w, status, code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", requestID)
	_ = json.NewEncoder(w).Encode(o) // the client has gone
}

// requestID is the name that every answer gives its call.
const requestID = "req_fake"

func fail(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", requestID)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(
		Object{"error": Object{"type": "invalid_request_error", "code": code, "message": "the fake refuses this"}},
	)
}

// post handles a call that changes something, once per idempotency key.
func (s *Server) post(path []string, r *http.Request) (o any, events []Event, status int, code string) {
	key := r.Header.Get("Idempotency-Key")
	form := r.URL.Path + " " + r.PostForm.Encode()
	if first, ok := s.answered[key]; ok && key != "" {
		if first.form != form {
			return nil, nil, http.StatusBadRequest, "idempotency_error"
		}
		return s.objects[first.id], nil, 0, ""
	}
	var made Object
	switch {
	case len(path) == 2 && path[0] == "checkout":
		made, status, code = s.newSession(r.PostForm)
	case len(path) == 4 && path[0] == "checkout" && path[3] == "expire":
		made = s.objects[path[2]]
		if made == nil || made["status"] != "open" {
			return nil, nil, http.StatusBadRequest, "resource_missing"
		}
		made["status"] = "expired"
		events = append(events, s.happen("checkout.session.expired", made))
	case len(path) == 1 && path[0] == "refunds":
		made, events, status, code = s.newRefund(r.PostForm)
	case len(path) == 2 && path[0] == "disputes":
		made, events, status, code = s.answerDispute(path[1], r.PostForm)
	case len(path) == 1 && path[0] == "webhook_endpoints":
		made = s.add(
			"we",
			Object{
				"object": "webhook_endpoint", "url": r.PostForm.Get("url"), "status": "enabled",
				"secret": s.Secret, "api_version": r.PostForm.Get("api_version"),
				"enabled_events": values(r.PostForm, "enabled_events"),
			},
		)
	default:
		return nil, nil, http.StatusNotFound, "resource_missing"
	}
	if status != 0 {
		return nil, nil, status, code
	}
	if key != "" {
		if s.answered == nil {
			s.answered = map[string]answer{}
		}
		s.answered[key] = answer{form, made.Text("id")}
		made["idempotency_key"] = key
	}
	return made, events, 0, ""
}

func (s *Server) get(path []string, form url.Values) (o any, status int, code string) {
	switch {
	case len(path) == 1 && path[0] == "events":
		return s.listEvents(form)
	case len(path) == 1 && path[0] == "refunds":
		return s.list(form, "re", func(o Object) bool { return o["payment_intent"] == form.Get("payment_intent") })
	case len(path) == 1 && path[0] == "webhook_endpoints":
		return s.list(form, "we", func(Object) bool { return true })
	case len(path) == 1 && path[0] == "payment_intents":
		return s.list(form, "pi", func(Object) bool { return true })
	}
	found := s.objects[path[len(path)-1]]
	if found == nil {
		return nil, http.StatusNotFound, "resource_missing"
	}
	if pi, ok := found["payment_intent"].(string); ok && form.Get("expand[0]") == "payment_intent" {
		c := Object{}
		for k, v := range found {
			c[k] = v
		}
		c["payment_intent"] = s.objects[pi]
		return c, 0, ""
	}
	if found["object"] == "payment_intent" && form.Get("expand[0]") == "latest_charge.balance_transaction" {
		return s.withFee(found), 0, ""
	}
	return found, 0, ""
}

func (s *Server) newSession(form url.Values) (Object, int, string) {
	amount, err := strconv.ParseInt(form.Get("line_items[0][price_data][unit_amount]"), 10, 64)
	quantity, err1 := strconv.ParseInt(form.Get("line_items[0][quantity]"), 10, 64)
	ends, err2 := strconv.ParseInt(form.Get("expires_at"), 10, 64)
	switch {
	case err != nil || err1 != nil || form.Get("mode") != "payment" || form.Get("success_url") == "":
		return nil, http.StatusBadRequest, "parameter_missing"
	case amount < 50:
		return nil, http.StatusBadRequest, "amount_too_small"
	case err2 != nil || ends < s.now()+30*60 || ends > s.now()+24*60*60:
		return nil, http.StatusBadRequest, "parameter_invalid_integer"
	}
	o := s.add("cs", Object{
		"object": "checkout.session", "status": "open", "payment_status": "unpaid", "amount_total": amount * quantity,
		"currency":            form.Get("line_items[0][price_data][currency]"),
		"client_reference_id": form.Get("client_reference_id"),
		"metadata":            map[string]string{"checkout": form.Get("metadata[checkout]")},
		"success_url":         form.Get("success_url"),
		"cancel_url":          form.Get("cancel_url"), "expires_at": ends, "payment_intent": nil,
		"item":            form.Get("line_items[0][price_data][product_data][name]"),
		"intent_metadata": form.Get("payment_intent_data[metadata][checkout]"),
		"adaptive":        form.Get("adaptive_pricing[enabled]"),
	})
	o["url"] = s.URL + "/pay/" + o.Text("id")
	return o, 0, ""
}

func (s *Server) newRefund(form url.Values) (Object, []Event, int, string) {
	intent := s.objects[form.Get("payment_intent")]
	amount, err := strconv.ParseInt(form.Get("amount"), 10, 64)
	if intent == nil || err != nil {
		return nil, nil, http.StatusBadRequest, "resource_missing"
	}
	if intent["refunded"].(int64)+amount > intent["amount"].(int64) {
		return nil, nil, http.StatusBadRequest, "charge_already_refunded"
	}
	o := s.refund(intent, amount, "succeeded", form.Get("metadata[request]"))
	return o, []Event{s.happen("refund.created", o)}, 0, ""
}

func (s *Server) refund(intent Object, amount int64, status, request string) Object {
	if status != "failed" {
		intent["refunded"] = intent["refunded"].(int64) + amount
	}
	return s.add("re", Object{
		"object": "refund", "payment_intent": intent.Text("id"), "charge": intent.Text("latest_charge"),
		"amount":   amount,
		"currency": intent["currency"], "status": status,
		"metadata": map[string]string{"request": request},
	})
}

// values returns the items of a list in a form.
func values(form url.Values, name string) []string {
	var list []string
	for i := 0; form.Has(fmt.Sprintf("%s[%d]", name, i)); i++ {
		list = append(list, form.Get(fmt.Sprintf("%s[%d]", name, i)))
	}
	return list
}
