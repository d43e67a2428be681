package dispatch_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"claviger/internal/sqldb"
)

// stored is the number of deliveries that wait when a benchmark starts.
const stored = 20000

// BenchmarkDrain sends stored deliveries to one endpoint and to twenty, until all are recorded.
// Bare is the comparison: a client that posts the same bytes, 64 at a time, and records nothing.
func BenchmarkDrain(b *testing.B) {
	for _, partners := range []int64{1, 20} {
		for _, licenses := range []int64{stored, 1000} {
			b.Run(fmt.Sprintf("endpoints=%d/licenses=%d", partners, licenses), func(b *testing.B) {
				b.ReportAllocs()
				var used time.Duration
				for b.Loop() {
					b.StopTimer()
					r := newHarness(b)
					var n atomic.Int64
					arrived := make(chan struct{})
					for p := range partners {
						r.partner(p+1, func(w http.ResponseWriter, req *http.Request) {
							sink(w, req)
							if n.Add(1) == stored {
								close(arrived)
							}
						})
					}
					r.store(partners, licenses, stored)
					done := profiled(b)
					before := cpu()
					b.StartTimer()
					_, stop := r.running(settings{})
					<-arrived
					r.until("recorded", func() bool { return r.open() == 0 })
					b.StopTimer()
					used += cpu() - before
					done()
					stop()
					b.StartTimer()
				}
				report(b, used)
			})
		}
	}
}

func BenchmarkBare(b *testing.B) {
	for _, endpoints := range []int{1, 20} {
		b.Run(fmt.Sprintf("endpoints=%d", endpoints), func(b *testing.B) {
			b.ReportAllocs()
			var used time.Duration
			for b.Loop() {
				b.StopTimer()
				r := newHarness(b)
				var urls []string
				for p := range endpoints {
					r.partner(int64(p+1), sink)
					urls = append(urls, r.endpoints[int64(p+1)].URL)
				}
				body := []byte(notice(1, 1, 1, now()).Sentence)
				body = append(body, bytes.Repeat([]byte("x"), 330-len(body))...)
				transport := &http.Transport{MaxIdleConnsPerHost: 64}
				done := profiled(b)
				before := cpu()
				b.StartTimer()
				bare(b, transport, urls, body)
				b.StopTimer()
				used += cpu() - before
				done()
				transport.CloseIdleConnections()
				b.StartTimer()
			}
			report(b, used)
		})
	}
}

func report(b *testing.B, used time.Duration) {
	n := stored * float64(b.N)
	b.ReportMetric(n/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(float64(used.Microseconds())/n, "cpu-µs/delivery")
}

// bare posts the body once per stored delivery, 64 at a time.
func bare(b *testing.B, transport *http.Transport, urls []string, body []byte) {
	client := &http.Client{Transport: transport}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for n := next.Add(1); n <= stored; n = next.Add(1) {
				req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, urls[int(n)%len(urls)], bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				req.Header.Set("Content-Type", "application/json")
				resp, err := client.Do(req)
				if err != nil {
					b.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
	wg.Wait()
}

// sink accepts everything.
func sink(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	_, _ = w.Write([]byte(`{"success":true}`))
}

// store writes events of licenses, spread evenly over the partners, with their deliveries.
func (r *harness) store(partners, licenses, events int64) {
	r.Helper()
	const batch = 1000
	for from := int64(0); from < licenses; from += batch {
		r.write(func(tx *sqldb.Tx) {
			for id := from + 1; id <= min(from+batch, licenses); id++ {
				r.licenses[id] = (id-1)%partners + 1
				insertLicense(tx, id, r.licenses[id])
			}
		})
	}
	for from := int64(0); from < events; from += batch {
		r.write(func(tx *sqldb.Tx) {
			for id := from + 1; id <= min(from+batch, events); id++ {
				license := (id-1)%licenses + 1
				insertEvent(tx, r.out.Outbox, notice(id, r.licenses[license], license, now()))
			}
		})
	}
	r.events = events
}
