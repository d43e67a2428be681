//go:build unix

package seed_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"claviger/bench/internal/seed"
	"claviger/internal/account"
	"claviger/internal/answers"
	"claviger/internal/api"
	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// The benchmarks of this file show where the time goes: run them with -cpuprofile. They also report
// CPU time, which other work on the machine disturbs less. They run on PostgreSQL as the tests do.

// market returns a seeded database of 50,000 licenses.
func market(b *testing.B) (*sqldb.DB, seed.Market) {
	b.Helper()
	at := sqldbtest.URL(b)
	if err := seed.Fill(b.Context(), at, 50_000); err != nil {
		b.Fatal(err)
	}
	m, err := seed.Look(b.Context(), at)
	if err != nil {
		b.Fatal(err)
	}
	return sqldbtest.OpenWith(b, at, sqldb.Options{}), m
}

// cpu reports the process's CPU time per operation from now on.
func cpu(b *testing.B) func() {
	start := spent()
	return func() { b.ReportMetric(float64((spent()-start).Nanoseconds())/1000/float64(b.N), "cpu-µs/op") }
}

func spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkList reads pages of 100 from the domain packages.
func BenchmarkList(b *testing.B) {
	db, m := market(b)
	licenses, events := &license.Store{DB: db, Now: app.Now}, &event.Log{DB: db}
	for _, c := range []struct {
		name string
		read func(paging.Page) error
	}{
		{"licenses", func(p paging.Page) error {
			_, err := licenses.List(b.Context(), m.Partners[0], license.Filter{}, p)
			return err
		}},
		{"licenses-active", func(p paging.Page) error {
			_, err := licenses.List(b.Context(), m.Partners[0], license.Filter{Status: event.Active}, p)
			return err
		}},
		{"events", func(p paging.Page) error {
			_, err := events.List(b.Context(), m.Partners[0], event.Filter{}, p)
			return err
		}},
		{"events-active", func(p paging.Page) error {
			_, err := events.List(b.Context(), m.Partners[0], event.Filter{Status: event.Active}, p)
			return err
		}},
	} {
		for _, number := range []int64{1, 250} {
			b.Run(fmt.Sprintf("%s/page-%d", c.name, number), func(b *testing.B) {
				b.ReportAllocs()
				report := cpu(b)
				for b.Loop() {
					if err := c.read(paging.Page{Number: number, Limit: 100}); err != nil {
						b.Fatal(err)
					}
				}
				report()
			})
		}
	}
}

// BenchmarkHandler serves the list of licenses without a network: authentication,
// query, encoding.
func BenchmarkHandler(b *testing.B) {
	db, _ := market(b)
	handler := (&api.API{Common: answers.Common{
		Partners: &partner.Store{DB: db, Now: app.Now}, Licenses: &license.Store{DB: db, Now: app.Now},
		PublicURL: "https://licenses.example.com",
	}}).Handler()
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/v2/licenses?limit=100", nil)
	r.Header.Set("Authorization", "Bearer "+seed.APIKey(1))
	w := httptest.NewRecorder()
	if handler.ServeHTTP(w, r); w.Code != http.StatusOK {
		b.Fatalf("answered %d: %s", w.Code, w.Body)
	}
	b.ReportAllocs()
	report := cpu(b)
	for b.Loop() {
		handler.ServeHTTP(&nowhere{header: http.Header{}}, r)
	}
	report()
}

// nowhere is a response writer that discards everything.
type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (n *nowhere) WriteHeader(int)             {}

// BenchmarkPurchase sells licenses of one partner, or of 16, to 16 concurrent clients.
func BenchmarkPurchase(b *testing.B) {
	for _, c := range []struct {
		name     string
		partners int
		buyer    bool
	}{
		{"1-partner", 1, false},
		{"16-partners", 16, false},
		{"with-buyer", 1, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			db := sqldbtest.Open(b)
			partners, err := seed.Partners(b.Context(), db, c.partners)
			if err != nil {
				b.Fatal(err)
			}
			registry := &license.Store{DB: db, Now: app.Now}
			var n atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(8)
			report := cpu(b)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := n.Add(1)
					order := license.Purchase{PartnerID: partners[i%int64(c.partners)], Tier: 1, Quantity: 1, ExternalID: fmt.Sprint(i)}
					if c.buyer {
						order.Buyer = &account.Person{Email: order.ExternalID + "@example.com"}
					}
					if _, err := registry.Purchase(b.Context(), audit.System("bench"), order); err != nil {
						b.Error(err)
						return
					}
				}
			})
			report()
		})
	}
}
