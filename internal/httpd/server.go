// Package httpd serves HTTP: listeners, timeouts, the request id and one log line per request,
// recovery from panics, the client's address behind declared proxies, health, metrics and the admin
// listener, and an orderly stop.
//
// It knows no API and no domain package: it gets one handler, the readiness checks, and the
// functions to call after the last request. Only package app imports it.
package httpd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"claviger/internal/requestlog"
)

// Timeouts limit clients, handlers and stops. A zero value means the default in the comment.
type Timeouts struct {
	Header   time.Duration // to read the request header: 5 s
	Read     time.Duration // to read the whole request: 30 s
	Request  time.Duration // for a handler's work, by its context: 30 s
	Write    time.Duration // from the header to the end of a short answer: 60 s
	Progress time.Duration // for each 64 KiB of a longer one: 10 s
	Idle     time.Duration // between requests of a connection: 2 min
	Health   time.Duration // for all readiness checks together: 2 s
	Notice   time.Duration // between turning unready and refusing connections, for load balancers: none
	First    time.Duration // for the first request of an accepted connection to come after that: 1 s
	Drain    time.Duration // for running requests to finish after that: 20 s
	Stop     time.Duration // for each function of OnStop: 10 s
}

func (t Timeouts) withDefaults() Timeouts {
	return Timeouts{
		Header:   cmp.Or(t.Header, 5*time.Second),
		Read:     cmp.Or(t.Read, 30*time.Second),
		Request:  cmp.Or(t.Request, 30*time.Second),
		Write:    cmp.Or(t.Write, time.Minute),
		Progress: cmp.Or(t.Progress, 10*time.Second),
		Idle:     cmp.Or(t.Idle, 2*time.Minute),
		Health:   cmp.Or(t.Health, 2*time.Second),
		Notice:   t.Notice,
		First:    cmp.Or(t.First, time.Second), // some browsers open connections and send nothing
		Drain:    cmp.Or(t.Drain, 20*time.Second),
		Stop:     cmp.Or(t.Stop, 10*time.Second),
	}
}

// DefaultMaxHeaderBytes is the default maximum size of a request header.
const DefaultMaxHeaderBytes = 64 << 10

// Server serves one handler. Set the exported fields, then Listen, then Run.
type Server struct {
	Address      string       // listening address; port 0 picks a free one
	AdminAddress string       // metrics and health; "" for none
	PprofAddress string       // profiles; "" for none
	Handler      http.Handler // everything but health
	Ready        []Check      // checks of /readyz
	Version      string       // of the program, shown by /readyz; "" to omit it
	Proxies      Proxies      // proxies that are trusted to report the client's address
	Log          *slog.Logger // slog.Default when nil
	Metrics      *prometheus.Registry
	Tracer       trace.Tracer // nil: requests are not traced
	Timeouts     Timeouts

	Requests *requestlog.Log // stores the outcome of each request of a partner; nil: it is not stored

	// Hosts are the allowed names in the Host header, with or without a port, in addition to
	// localhost and the address that the request came to. Nil: any.
	Hosts []string

	// MaxHeaderBytes is the maximum size of a request header; DefaultMaxHeaderBytes if zero.
	MaxHeaderBytes int

	// Hurry, if set, cuts Timeouts.Notice short when it is closed.
	Hurry <-chan struct{}

	// OnDrain is called in order when a stop begins. It ends requests that never end by themselves,
	// such as streams.
	OnDrain []func()

	// OnLast is called in order after Timeouts.Notice. It ends long requests, such as exports.
	OnLast []func()

	// OnStop is called in order after the last request. Each function gets its own context, limited
	// by Timeouts.Stop.
	OnStop []func(context.Context) error

	times    Timeouts
	meter    *meter
	public   *http.Server
	fresh    freshConns
	admin    *http.Server // nil without AdminAddress
	pprof    *http.Server // nil without PprofAddress
	socket   net.Listener
	lent     bool // socket belongs to the service manager, which keeps it open
	adminAt  net.Listener
	pprofAt  net.Listener
	hangUp   context.CancelFunc // ends the contexts of running requests
	draining atomic.Bool
	warned   atomic.Bool // see warnUndeclared
	stopOnce sync.Once
	stopErr  error
	stopping chan struct{}
	running  atomic.Bool
	served   chan struct{} // closed when no more connections are accepted
}

// Listen binds the addresses and prepares to serve, so that a port in use is a start-up error.
func (s *Server) Listen(ctx context.Context) error {
	if s.Log == nil {
		s.Log = slog.Default()
	}
	if s.Metrics == nil {
		s.Metrics = prometheus.NewRegistry()
	}
	s.times = s.Timeouts.withDefaults()
	s.stopping = make(chan struct{})
	s.served = make(chan struct{})
	if err := s.bind(ctx); err != nil {
		return err
	}
	var err error
	if s.meter, err = newMeter(s.Metrics); err != nil {
		s.unbind()
		return fmt.Errorf("register the HTTP metrics: %w", err)
	}
	if s.adminAt != nil {
		s.admin = s.newAdmin()
	}
	if s.pprofAt != nil {
		s.pprof = s.newPprof()
	}
	s.public = s.newPublic(ctx)
	return nil
}

// bind binds the addresses, all or none.
func (s *Server) bind(ctx context.Context) error {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false) // refuseNew cannot filter it
	var err error
	if s.socket, s.lent, err = lentSocket(); err != nil {
		return err
	}
	if !s.lent {
		if s.socket, err = lc.Listen(ctx, "tcp", s.Address); err != nil {
			return fmt.Errorf("listen for requests: %w", err)
		}
	}
	if s.AdminAddress != "" {
		if s.adminAt, err = lc.Listen(ctx, "tcp", s.AdminAddress); err != nil {
			s.unbind()
			return fmt.Errorf("listen for administration: %w", err)
		}
	}
	if s.PprofAddress != "" {
		if s.pprofAt, err = lc.Listen(ctx, "tcp", s.PprofAddress); err != nil {
			s.unbind()
			return fmt.Errorf("listen for profiles: %w", err)
		}
	}
	return nil
}

// unbind closes the listeners. Closed ones stay closed.
func (s *Server) unbind() {
	for _, l := range []net.Listener{s.socket, s.adminAt, s.pprofAt} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// newPublic returns the server of the service itself.
func (s *Server) newPublic(ctx context.Context) *http.Server {
	base, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	s.hangUp = hangUp
	s.fresh.open = map[net.Conn]bool{}
	return &http.Server{
		Handler:           s.traced(s.observe(s.ownHost(s.route()))),
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       boundBuffer,
		ConnState:         s.fresh.note,
		ReadHeaderTimeout: s.times.Header,
		ReadTimeout:       s.times.Read,
		WriteTimeout:      s.times.Write,
		IdleTimeout:       s.times.Idle,
		MaxHeaderBytes:    cmp.Or(s.MaxHeaderBytes, DefaultMaxHeaderBytes),
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
}

// maxUnsent is the maximum number of bytes that the system buffers for a client that does not read.
// The default is up to megabytes per connection.
const maxUnsent = 128 << 10

// boundBuffer limits the system's buffer of a new connection. If that fails, the system's default
// applies.
func boundBuffer(ctx context.Context, c net.Conn) context.Context {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(maxUnsent)
	}
	return ctx
}

// Addr returns the address of Listen with its actual port.
func (s *Server) Addr() string { return s.socket.Addr().String() }

// AdminAddr returns the address of the admin listener, or "".
func (s *Server) AdminAddr() string { return boundAt(s.adminAt) }

// PprofAddr returns the address of the profiles, or "".
func (s *Server) PprofAddr() string { return boundAt(s.pprofAt) }

// boundAt returns the address of a listener, or "" for none.
func boundAt(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Run serves until ctx ends, Stop is called or a listener fails, then stops in order and returns.
// It returns nil after a clean stop.
func (s *Server) Run(ctx context.Context) error {
	failed := make(chan error, 3)
	var wg sync.WaitGroup
	serve := func(srv *http.Server, l net.Listener) {
		err := srv.Serve(l)
		ended := errors.Is(err, http.ErrServerClosed) || s.draining.Load() && errors.Is(err, net.ErrClosed)
		if !ended {
			failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
		}
	}
	s.running.Store(true)
	wg.Go(func() {
		serve(s.public, s.socket)
		close(s.served)
	})
	if s.admin != nil {
		wg.Go(func() { serve(s.admin, s.adminAt) })
	}
	if s.pprof != nil {
		wg.Go(func() { serve(s.pprof, s.pprofAt) })
	}
	var err error
	select {
	case <-ctx.Done():
	case <-s.stopping:
	case err = <-failed:
	}
	err = errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	wg.Wait()
	return err
}

// Stop stops in order:
//
//  1. It turns unready, calls OnDrain and still serves for Timeouts.Notice, one request per
//     connection. Proxies learn that the node leaves, and their idle connections end by themselves.
//  2. It accepts no more connections, calls OnLast and waits for the first request of each accepted
//     one, at most Timeouts.First. Then it lets running requests finish. It cuts them off after
//     Timeouts.Drain, or when ctx ends.
//  3. It calls OnStop, and closes the listeners for operators last.
//
// A second call waits for the first and returns the same result. The cost of the limits: a handler
// that ignores its context may still run when OnStop is called.
func (s *Server) Stop(ctx context.Context) error {
	if s.public == nil {
		return nil // it never listened
	}
	s.stopOnce.Do(func() {
		close(s.stopping)
		s.stopErr = s.stop(ctx)
	})
	return s.stopErr
}

func (s *Server) stop(ctx context.Context) error {
	s.draining.Store(true)
	for _, f := range s.OnDrain {
		f()
	}
	if s.times.Notice > 0 {
		s.pause(ctx, s.times.Notice)
	}
	for _, f := range s.OnLast {
		f()
	}

	var errs []error
	drain, cancel := context.WithTimeout(ctx, s.times.Drain)
	defer cancel()
	if !s.lent {
		_ = refuseNew(drain, s.socket) // where it is not possible, a connection may be reset
	}
	_ = s.socket.Close()
	if s.running.Load() {
		<-s.served
	}
	s.fresh.wait(drain, s.times.First)
	if err := s.public.Shutdown(drain); err != nil {
		errs = append(errs, fmt.Errorf("wait for running requests: %w", err))
	}
	s.hangUp()
	_ = s.public.Close()

	for _, f := range s.OnStop {
		err := func() error {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.times.Stop)
			defer cancel()
			return f(ctx)
		}()
		errs = append(errs, err)
	}
	for _, srv := range []*http.Server{s.admin, s.pprof} {
		if srv != nil {
			_ = srv.Close()
		}
	}
	s.unbind()
	return errors.Join(errs...)
}

// pause waits for d, or until ctx ends or Hurry is closed.
func (s *Server) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.Hurry:
	case <-ctx.Done():
	}
}
