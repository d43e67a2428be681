package devserver

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/validate"
	"claviger/internal/wire"
)

// faultsPath is the path to read and switch faults.
const faultsPath = controlPath + "/faults"

// kindOfFault is a fault that can be turned on.
type kindOfFault struct{ Name, Label, Text string }

// The names of faults.
const (
	slowAnswers    = "slow"
	droppedHook    = "drop"
	doubledHook    = "duplicate"
	reorderedHook  = "reorder"
	wrongSignature = "wrong-signature"
	expiredTokens  = "expired-tokens"
	fewRequests    = "rate-limit"
)

// kindsOfFaults are all faults, in the order of the page.
var kindsOfFaults = []kindOfFault{
	{
		slowAnswers,
		"Answer slowly",
		"Each call of the partner's API and of the OAuth endpoints is answered after 3 seconds.",
	},
	{droppedHook, "Drop webhooks", "The first attempt of each webhook is lost on its way. The next attempt arrives."},
	{doubledHook, "Duplicate webhooks", "Each webhook arrives twice, with the same id."},
	{
		reorderedHook,
		"Reorder webhooks",
		"Each webhook waits for the next one and arrives after it, as behind a queue that accepts it first.",
	},
	{
		wrongSignature,
		"Wrong signatures",
		"The signatures of webhooks are made without the secret. Your application should answer 401.",
	},
	{expiredTokens, "Expired tokens", "Access tokens have expired, unless a refresh gave them."},
	{fewRequests, "20 requests a minute", "More calls of the partner's API are answered 429 with Retry-After."},
}

// faults injects faults between the service and the partner's application. The service itself does
// not know about them.
type faults struct {
	log       *slog.Logger
	now       func() time.Time
	direct    net.Dialer
	forwarder http.Client
	plain     func(context.Context) bool // webhooks go to a URL without TLS; set when the partner is known

	mu      sync.Mutex
	on      map[string]bool
	limit   *wire.Limiter
	fresh   map[string]bool // access tokens from refreshes during that fault
	held    *http.Request   // a webhook waiting for the next one
	conns   []net.Conn      // direct ones, which must not be reused with faults
	relay   *http.Server    // nil until the first webhook fault
	relayAt string
}

func newFaults(log *slog.Logger, now func() time.Time) *faults {
	return &faults{
		log: log, now: now, on: map[string]bool{}, direct: net.Dialer{Timeout: dialTimeout},
		forwarder: http.Client{
			Timeout: forwardTimeout, Transport: &http.Transport{DisableKeepAlives: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// is reports whether a fault is active.
func (f *faults) is(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.on[name]
}

// active lists the active faults.
func (f *faults) active() []kindOfFault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(kindsOfFaults), func(k kindOfFault) bool { return !f.on[k.Name] })
}

// banner names the active faults for the other pages, or returns "".
func (f *faults) banner() string {
	var labels []string
	for _, k := range f.active() {
		labels = append(labels, k.Label)
	}
	return strings.Join(labels, ", ")
}

// set activates exactly these faults.
func (f *faults) set(names []string) error {
	all := FaultNames()
	for _, name := range names {
		if !slices.Contains(all, name) {
			hint := ""
			if near := validate.Nearest(name, all); near != "" {
				hint = " Did you mean " + near + "?"
			}
			return fault.Parameter("fault", "%q is none; there are %s, and off.%s", name, strings.Join(all, ", "), hint)
		}
	}
	f.mu.Lock()
	held := f.held
	f.on = map[string]bool{}
	f.fresh = map[string]bool{}
	f.held = nil
	for _, name := range names {
		f.on[name] = true
	}
	if f.on[reorderedHook] {
		f.held = held
		held = nil
	}
	f.limit = &wire.Limiter{PerMinute: 20, Now: f.now}
	for _, c := range f.conns {
		_ = c.Close() // the service repeats the request over a new one
	}
	f.conns = nil
	f.mu.Unlock()
	if held != nil {
		f.pass(held)
	}
	if len(names) == 0 {
		f.log.Info("faults are off")
	} else {
		f.log.Warn("faults are on: " + strings.Join(names, ", "))
	}
	return nil
}

// FaultNames lists the available faults.
func FaultNames() []string {
	var names []string
	for _, k := range kindsOfFaults {
		names = append(names, k.Name)
	}
	return names
}

// faultsAnswer has the active faults for programs, such as claviger dev fault.
type faultsAnswer struct {
	On []string `json:"on"`
}

func (f *faults) showFaults(w http.ResponseWriter, _ *http.Request) error {
	on := []string{}
	for _, k := range f.active() {
		on = append(on, k.Name)
	}
	return wire.JSON(w, http.StatusOK, faultsAnswer{on})
}

// change turns on the faults that a form names, and turns off the others.
func (f *faults) change(w http.ResponseWriter, r *http.Request) error {
	err := f.set(wanted(r.PostForm))
	program := strings.Contains(r.Header.Get("Accept"), "application/json")
	switch {
	case err != nil && program:
		wire.Fail(w, r, err)
		return nil
	case err != nil:
		return err
	case program:
		return f.showFaults(w, r)
	}
	ui.SeeOther(w, r, controlPath+"/")
	return nil
}

// wanted returns the faults that a form names, as values of fault or as ticked boxes.
func wanted(form url.Values) []string {
	names := slices.DeleteFunc(
		slices.Clone(form["fault"]),
		func(name string) bool { return name == "" || name == "off" },
	)
	for box := range form {
		if name, ok := strings.CutPrefix(box, "fault-"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (f *faults) routes(pages *ui.Pages) []wire.Route {
	return []wire.Route{wire.Public(http.MethodGet, faultsPath, f.showFaults), formRoute(pages, faultsPath, f.change)}
}
