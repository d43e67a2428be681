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

// BenchmarkRefused compares a refused call over HTTP without the log and with it, while
// what waits is written as in the product. The log's part is "add": what the request
// itself does for it.
func BenchmarkRefused(b *testing.B) {
	b.Run("without", func(b *testing.B) { benchmarkCalls(b, nil) })
	b.Run("with", func(b *testing.B) {
		h := newHarness(b)
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); h.Run(ctx) }()
		benchmarkCalls(b, func(r *http.Request, note *wire.RequestLog, status int) {
			code, text, cause := note.Refusal(status)
			h.Refused(requestlog.Call{
				PartnerID: 1, Proven: true, Method: r.Method, Path: r.URL.Path, Route: note.Route, Status: status,
				Code: code, Message: text, Cause: cause, RequestID: note.ID,
			})
		})
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
func benchmarkCalls(b *testing.B, finished func(*http.Request, *wire.RequestLog, int)) {
	b.Helper()
	srv := &httpd.Server{
		Address: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler), Finished: finished,
		Handler: wire.NewMux(wire.Public("GET", "/v2/licenses", func(http.ResponseWriter, *http.Request) error {
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
