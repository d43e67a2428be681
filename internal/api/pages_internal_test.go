package api

import (
	"bytes"
	"fmt"
	"testing"

	"claviger/internal/paging"
)

func TestKeptPages(t *testing.T) {
	var p pages
	key := func(n int64) pageKey { return pageKey{partnerID: 1, page: paging.Page{Number: n, Limit: 100}} }
	body := []byte("one")
	p.keep(key(1), 7, 5, body)
	body[0] = 'x' // the buffer it came from is used again
	if k, ok := p.find(key(1), 7); !ok || string(k.body) != "one" || k.total != 5 {
		t.Errorf("got %+v, %v", k, ok)
	}
	for name, ask := range map[string]func() (*keptPage, bool){
		"after a turn":    func() (*keptPage, bool) { return p.find(key(1), 8) },
		"another page":    func() (*keptPage, bool) { return p.find(key(2), 7) },
		"another partner": func() (*keptPage, bool) { return p.find(pageKey{partnerID: 2, page: key(1).page}, 7) },
		"another status":  func() (*keptPage, bool) { return p.find(pageKey{partnerID: 1, status: 1, page: key(1).page}, 7) },
	} {
		if k, ok := ask(); ok {
			t.Errorf("%s: found %+v", name, k)
		}
	}
	p.keep(key(1), 8, 6, []byte("two"))
	if k, ok := p.find(key(1), 8); !ok || string(k.body) != "two" || len(p.byKey) != 1 {
		t.Errorf("got %+v, %v of %d", k, ok, len(p.byKey))
	}
}

func TestKeptPagesAreBounded(t *testing.T) {
	for _, size := range []int{0, 40_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			var p pages
			body := bytes.Repeat([]byte("x"), size)
			for n := range int64(3 * keptBytes / (size + keptRoom)) {
				p.keep(pageKey{page: paging.Page{Number: n}}, 1, 1, body)
				p.find(pageKey{}, 1) // the first is asked for all the time
			}
			if p.bytes > keptBytes || len(p.byKey) != p.used.Len() || len(p.byKey) > keptBytes/(size+keptRoom) {
				t.Errorf("%d pages of %d bytes are kept", len(p.byKey), p.bytes)
			}
			if _, ok := p.find(pageKey{}, 1); !ok {
				t.Error("the page that is asked for all the time was forgotten")
			}
		})
	}
}
