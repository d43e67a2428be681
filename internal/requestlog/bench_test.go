package requestlog_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"testing"

	"claviger/internal/fault"
	"claviger/internal/httpd"
	"claviger/internal/requestlog"
	"claviger/internal/wire"
)

// BenchmarkRefused compares a refused call over HTTP without and with the log, while the queue is
// written as in production. "add" is the log's own part in a request.
func BenchmarkRefused(b *testing.B) {
	b.Run("without", func(b *testing.B) { benchmarkCalls(b, nil) })
	b.Run("with", func(b *testing.B) {
		h := newHarness(b)
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); h.Run(ctx) }()
		benchmarkCalls(b, h.Log)
		stop()
		<-ended
	})
	b.Run("add", func(b *testing.B) {
		h := newHarness(b)
		c := call()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%256 == 255 { // so that none is dropped, which is cheaper
				b.StopTimer()
				if err := h.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			h.Refused(c)
		}
	})
}

// benchmarkCalls sends calls that are refused.
func benchmarkCalls(b *testing.B, log *requestlog.Log) {
	b.Helper()
	srv := &httpd.Server{
		Address: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler), Requests: log,
		Handler: wire.NewMux(wire.Public("GET", "/v2/licenses", func(_ http.ResponseWriter, r *http.Request) error {
			wire.RequestLogOf(r.Context()).Partner = 1
			return fault.Parameter("page", "must be a whole number from 1; pages start at 1.")
		})),
	}
	if err := srv.Listen(b.Context()); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- srv.Run(ctx) }()
	url := "http://" + srv.Addr() + "/v2/licenses"
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			b.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	stop()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}
