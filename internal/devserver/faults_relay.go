package devserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The bounds of relayed webhooks.
const (
	dialTimeout    = 3 * time.Second
	forwardTimeout = 10 * time.Second
	maxRelayed     = 1 << 20
	maxConns       = 256 // that are remembered
)

// hookFaults are the faults of webhooks.
var hookFaults = []string{droppedHook, doubledHook, reorderedHook, wrongSignature}

// dial connects the service to the partner's application: directly, or through the relay while
// webhook faults are active. TLS cannot be relayed: the partner's URL must begin with http://.
func (f *faults) dial(ctx context.Context, network, address string) (net.Conn, error) {
	f.mu.Lock()
	wrong := slices.ContainsFunc(hookFaults, func(name string) bool { return f.on[name] })
	f.mu.Unlock()
	if wrong && f.plain(ctx) {
		at, err := f.startRelay(ctx)
		if err != nil {
			return nil, err
		}
		return f.direct.DialContext(ctx, "tcp", at)
	}
	c, err := f.direct.DialContext(ctx, network, address)
	if err == nil {
		f.mu.Lock()
		f.conns = append(f.conns[max(0, len(f.conns)-maxConns):], c)
		f.mu.Unlock()
	}
	return c, err
}

// startRelay starts the relay unless it runs, and returns its address.
func (f *faults) startRelay(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.relay != nil {
		return f.relayAt, nil
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for webhooks that go wrong: %w", err)
	}
	f.relay = &http.Server{
		Handler:           http.HandlerFunc(f.relayOne),
		ReadHeaderTimeout: forwardTimeout,
		ReadTimeout:       forwardTimeout,
	}
	f.relay.SetKeepAlivesEnabled(false) // so that it is unused without faults
	f.relayAt = l.Addr().String()
	go func(s *http.Server) { _ = s.Serve(l) }(f.relay) // ends with close
	return f.relayAt, nil
}

// close ends the relay.
func (f *faults) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.relay != nil {
		_ = f.relay.Close()
	}
}

// relayOne applies the faults to a request of the service, if it is a webhook.
func (f *faults) relayOne(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRelayed))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out := outgoing(context.WithoutCancel(r.Context()), r, body) // it may outlast the answer to the service
	if r.Method != http.MethodPost {
		f.answer(w, out)
		return
	}
	if f.is(droppedHook) && firstAttempt(r.Header) {
		panic(http.ErrAbortHandler) // no answer
	}
	if f.is(wrongSignature) {
		spoil(out.Header)
	}
	if f.is(reorderedHook) && f.hold(out) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"success":true}`) // like a queue in front of the application
		return
	}
	if f.is(doubledHook) {
		f.pass(clone(out))
	}
	f.answer(w, out)
	f.mu.Lock()
	held := f.held
	f.held = nil
	f.mu.Unlock()
	if held != nil {
		f.pass(held)
	}
}

// hold makes a webhook wait for the next one. It returns false if one is already waiting.
func (f *faults) hold(r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held != nil {
		return false
	}
	f.held = r
	return true
}

// outgoing returns the forwarded request.
func outgoing(ctx context.Context, r *http.Request, body []byte) *http.Request {
	out := r.Clone(ctx)
	out.URL.Scheme = "http"
	out.URL.Host = r.Host
	out.RequestURI = ""
	return withBody(out, body)
}

func withBody(r *http.Request, body []byte) *http.Request {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return r
}

// clone returns a second request that can be sent, too.
func clone(r *http.Request) *http.Request {
	c := r.Clone(r.Context())
	c.Body, _ = r.GetBody() // which does not fail
	return c
}

// pass forwards a request and ignores its answer.
func (f *faults) pass(r *http.Request) {
	resp, err := f.forwarder.Do(r)
	if err != nil {
		f.log.Warn("a webhook that was duplicated or held back did not arrive", "err", err)
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxRelayed))
	_ = resp.Body.Close() // nothing was written
}

// answer forwards a request and returns the application's answer.
func (f *faults) answer(w http.ResponseWriter, r *http.Request) {
	resp, err := f.forwarder.Do(r)
	if err != nil {
		panic(http.ErrAbortHandler) // no answer, as without the relay
	}
	defer resp.Body.Close() //nolint:errcheck // Nothing was written.
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, io.LimitReader(resp.Body, maxRelayed))
}

// firstAttempt reports whether a webhook is sent for the first time.
func firstAttempt(h http.Header) bool {
	for name := range h {
		if strings.HasSuffix(strings.ToLower(name), "-attempt") {
			return h.Get(name) == "1"
		}
	}
	return false
}

// spoil changes a character of each signature.
func spoil(h http.Header) {
	for name, values := range h {
		if !strings.HasSuffix(strings.ToLower(name), "signature") {
			continue
		}
		for i, value := range values {
			words := strings.Fields(value)
			for k, word := range words {
				at := max(len(word)-8, 0)
				other := "a"
				if strings.HasPrefix(word[at:], other) {
					other = "b"
				}
				words[k] = word[:at] + other + word[at+1:]
			}
			values[i] = strings.Join(words, " ")
		}
	}
}
