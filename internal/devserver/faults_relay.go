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

// dial is how the service reaches the partner's application: directly, or through the relay
// while webhooks are to go wrong. TLS cannot be relayed: the partner's URL must begin with
// http://.
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

// startRelay starts the relay unless it runs, and returns where it listens.
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
	f.relay = &http.Server{Handler: http.HandlerFunc(f.relayOne), ReadHeaderTimeout: forwardTimeout, ReadTimeout: forwardTimeout}
	f.relay.SetKeepAlivesEnabled(false) // so that nothing goes through it when faults are off
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

// relayOne has a request of the service go wrong, if it is a webhook.
func (f *faults) relayOne(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRelayed))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	out := outgoing(context.WithoutCancel(r.Context()), r, body) // it may go on when the service has its answer
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
		_, _ = io.WriteString(w, `{"success":true}`) // as a queue before the application does
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

// hold has a webhook wait for the next one. It reports false if one waits already.
func (f *faults) hold(r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held != nil {
		return false
	}
	f.held = r
	return true
}

// outgoing is the request as it goes on.
func outgoing(ctx context.Context, r *http.Request, body []byte) *http.Request {
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host, out.RequestURI = "http", r.Host, ""
	return withBody(out, body)
}

func withBody(r *http.Request, body []byte) *http.Request {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return r
}

// clone is a request that can be sent beside the first.
func clone(r *http.Request) *http.Request {
	c := r.Clone(r.Context())
	c.Body, _ = r.GetBody() // which does not fail
	return c
}

// pass sends a request on whose answer nobody waits for.
func (f *faults) pass(r *http.Request) {
	resp, err := f.forwarder.Do(r)
	if err != nil {
		f.log.Warn("a webhook that was duplicated or held back did not arrive", "err", err)
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxRelayed))
	_ = resp.Body.Close() // nothing was written
}

// answer sends a request on and answers what the application does.
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
