package license_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"claviger/internal/license"
	"claviger/internal/paging"
)

// BenchmarkList reads the first page of many licenses.
func BenchmarkList(b *testing.B) {
	h := newHarness(b)
	p := h.partner()
	for range 100 {
		h.buy(license.Purchase{PartnerID: p, Tier: 1, Quantity: 100})
	}
	b.ReportAllocs()
	for b.Loop() {
		list, err := h.licenses.List(b.Context(), p, license.Filter{}, paging.First())
		if err != nil || len(list.Licenses) != 100 {
			b.Fatal(err)
		}
	}
}

// BenchmarkPurchase buys single licenses from sixteen concurrent clients.
func BenchmarkPurchase(b *testing.B) {
	h := newHarness(b)
	p := h.partner()
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				h.buy(license.Purchase{PartnerID: p, Tier: 1})
			}
		})
	}
	wg.Wait()
}
