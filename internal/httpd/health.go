package httpd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"claviger/internal/wire"
)

// Check is a readiness check.
type Check struct {
	Name string                      // shown to anyone, such as "database"
	Ask  func(context.Context) error // a hook: the server calls it for each request to /readyz
}

// health is the answer of the health paths. It names the failed checks without details, because
// anyone may ask. The message is the sentence that clients get, such as that the disk is full.
type health struct {
	Status  string            `json:"status"`
	Version string            `json:"version,omitempty"` // of the program
	Message string            `json:"message,omitempty"`
	Checks  map[string]string `json:"checks,omitempty"`
}

// route handles the health paths and passes everything else to the handler.
func (s *Server) route() http.Handler {
	mux := s.healthMux()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isHealth(r.URL.Path) {
			mux.ServeHTTP(w, r)
			return
		}
		s.Handler.ServeHTTP(w, r)
	})
}

func isHealth(path string) bool {
	switch strings.TrimSuffix(path, "/") {
	case "/livez", "/readyz", "/healthz":
		return true
	}
	return false
}

// healthMux serves three paths: livez reports that the process answers, readyz and healthz that it
// can serve.
func (s *Server) healthMux() *wire.Mux {
	return wire.NewMux(
		wire.Public(http.MethodGet, "/livez", func(w http.ResponseWriter, _ *http.Request) error {
			return wire.JSON(w, http.StatusOK, health{Status: "ok"})
		}),
		wire.Public(http.MethodGet, "/readyz", s.ready),
		wire.Public(http.MethodGet, "/healthz", s.ready),
	)
}

// ready runs every check, so that the answer names all failures.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) error {
	if s.draining.Load() {
		return wire.JSON(w, http.StatusServiceUnavailable, health{Status: "draining", Version: s.Version})
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.times.Health)
	defer cancel()
	answer := health{Status: "ok", Version: s.Version, Checks: make(map[string]string, len(s.Ready))}
	status := http.StatusOK
	var failed []error
	for _, c := range s.Ready {
		answer.Checks[c.Name] = "ok"
		if err := c.Ask(ctx); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", c.Name, err))
			answer.Checks[c.Name] = "failed"
			answer.Status = "unavailable"
			answer.Message = cmp.Or(answer.Message, wire.Sentence(err))
			status = http.StatusServiceUnavailable
		}
	}
	wire.RequestLogOf(r.Context()).Err = errors.Join(failed...)
	return wire.JSON(w, status, answer)
}
