// Package httpd serves HTTP: listeners, timeouts, the request id and the one
// log line of each request, recovery from panics, the client's address behind
// declared proxies, health, metrics and the admin listener, and a stop in order.
//
// It knows no API and no domain package: it gets one handler, the checks of readiness,
// and what is to be stopped after the last request. Only package app imports it.
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

	"claviger/internal/wire"
)

// Timeouts bound what a client, a handler and a stop may take. A zero value has
// the default that stands beside it.
type Timeouts struct {
	Header   time.Duration // to read the request header: 5 s
	Read     time.Duration // to read the whole request: 30 s
	Request  time.Duration // for a handler's work, by its context: 30 s
	Write    time.Duration // from the header to the end of a short answer: 60 s
	Progress time.Duration // for each 64 KiB of a longer one: 10 s
	Idle     time.Duration // between requests of a connection: 2 min
	Health   time.Duration // for all questions of readiness together: 2 s
	Notice   time.Duration // between turning unready and refusing connections, for load balancers: none
	Drain    time.Duration // for running requests to finish when stopping: 20 s
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
		Drain:    cmp.Or(t.Drain, 20*time.Second),
		Stop:     cmp.Or(t.Stop, 10*time.Second),
	}
}

// DefaultMaxHeaderBytes is how large a request header may be unless told otherwise.
const DefaultMaxHeaderBytes = 64 << 10

// Server serves one handler. Set the exported fields, then Listen, then Run.
type Server struct {
	Address      string       // where to listen; port 0 picks a free one
	AdminAddress string       // metrics, pprof and health; "" for none
	Handler      http.Handler // everything but health
	Ready        []Check      // what /readyz asks
	Proxies      Proxies      // the proxies that are trusted about the client's address
	Log          *slog.Logger // slog.Default when nil
	Metrics      *prometheus.Registry
	Tracer       trace.Tracer // nil: requests are not traced
	Timeouts     Timeouts

	// Finished is called at the end of each request, with the status that was answered.
	// It must not wait. Nil: not called.
	Finished func(r *http.Request, note *wire.RequestLog, status int)

	// Hosts are the names that requests may have in their Host header, with or without
	// a port, beside localhost and the address that they came to. Nil: any.
	Hosts []string

	// MaxHeaderBytes is the largest request header; DefaultMaxHeaderBytes when zero.
	MaxHeaderBytes int

	// OnDrain is called in order when a stop begins: it ends what would not end by
	// itself, such as streams.
	OnDrain []func()

	// OnStop is called in order when the last request has been answered. Each
	// gets a context of its own, bounded by Timeouts.Stop.
	OnStop []func(context.Context) error

	times    Timeouts
	meter    *meter
	public   *http.Server
	admin    *http.Server // nil without AdminAddress
	socket   net.Listener
	adminAt  net.Listener
	hangUp   context.CancelFunc // ends the contexts of running requests
	draining atomic.Bool
	warned   atomic.Bool // see warnUndeclared
	stopOnce sync.Once
	stopErr  error
	stopping chan struct{}
}

// Listen takes the addresses and gets everything ready to serve, so that a
// taken port is an error at the start.
func (s *Server) Listen(ctx context.Context) error {
	if s.Log == nil {
		s.Log = slog.Default()
	}
	if s.Metrics == nil {
		s.Metrics = prometheus.NewRegistry()
	}
	s.times = s.Timeouts.withDefaults()
	s.stopping = make(chan struct{})
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
	s.public = s.newPublic(ctx)
	return nil
}

// bind takes the addresses, all or none.
func (s *Server) bind(ctx context.Context) error {
	var lc net.ListenConfig
	var err error
	if s.socket, err = lc.Listen(ctx, "tcp", s.Address); err != nil {
		return fmt.Errorf("listen for requests: %w", err)
	}
	if s.AdminAddress == "" {
		return nil
	}
	if s.adminAt, err = lc.Listen(ctx, "tcp", s.AdminAddress); err != nil {
		s.unbind()
		return fmt.Errorf("listen for administration: %w", err)
	}
	return nil
}

// unbind gives the addresses back. What has been closed already stays closed.
func (s *Server) unbind() {
	_ = s.socket.Close()
	if s.adminAt != nil {
		_ = s.adminAt.Close()
	}
}

// newPublic is the server of the service itself.
func (s *Server) newPublic(ctx context.Context) *http.Server {
	base, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	s.hangUp = hangUp
	return &http.Server{
		Handler:           s.traced(s.observe(s.ownHost(s.route()))),
		BaseContext:       func(net.Listener) context.Context { return base },
		ConnContext:       boundBuffer,
		ReadHeaderTimeout: s.times.Header,
		ReadTimeout:       s.times.Read,
		WriteTimeout:      s.times.Write,
		IdleTimeout:       s.times.Idle,
		MaxHeaderBytes:    cmp.Or(s.MaxHeaderBytes, DefaultMaxHeaderBytes),
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
}

// maxUnsent is how many bytes the system may hold for a client that does not read.
// It takes up to megabytes by itself, for each connection.
const maxUnsent = 128 << 10

// boundBuffer bounds what the system holds for a new connection. Where it cannot,
// the system's own bounds hold.
func boundBuffer(ctx context.Context, c net.Conn) context.Context {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(maxUnsent)
	}
	return ctx
}

// Addr is the address that Listen took, with the port it got.
func (s *Server) Addr() string { return s.socket.Addr().String() }

// AdminAddr is the address of the admin listener, "" when there is none.
func (s *Server) AdminAddr() string {
	if s.adminAt == nil {
		return ""
	}
	return s.adminAt.Addr().String()
}

// Run serves until ctx ends, Stop is called or a listener fails, then stops in
// order and returns. It returns nil after a stop in which everything ended well.
func (s *Server) Run(ctx context.Context) error {
	failed := make(chan error, 2)
	var wg sync.WaitGroup
	serve := func(srv *http.Server, l net.Listener) {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
		}
	}
	wg.Go(func() { serve(s.public, s.socket) })
	if s.admin != nil {
		wg.Go(func() { serve(s.admin, s.adminAt) })
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

// Stop stops in order: turns unready, calls OnDrain, accepts no more connections, lets running
// requests finish (cutting them off after Timeouts.Drain, or when ctx ends),
// calls OnStop, and closes the admin listener last. It is safe to call twice:
// the second call waits for the first and returns the same. The price of the
// bounds: a handler that does not heed its context may still be running when
// OnStop is called.
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
	s.public.SetKeepAlivesEnabled(false)
	pause(ctx, s.times.Notice)

	var errs []error
	drain, cancel := context.WithTimeout(ctx, s.times.Drain)
	defer cancel()
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
	if s.admin != nil {
		_ = s.admin.Close()
	}
	s.unbind()
	return errors.Join(errs...)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
