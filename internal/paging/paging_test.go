package paging_test

import (
	"math"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"claviger/internal/fault"
	"claviger/internal/paging"
)

func TestParse(t *testing.T) {
	for query, want := range map[string]struct {
		page  paging.Page
		fault string // the parameter at fault
	}{
		"":                           {page: paging.Page{Number: 1, Limit: 100}},
		"page=2&limit=10":            {page: paging.Page{Number: 2, Limit: 10}},
		"order=asc":                  {page: paging.Page{Number: 1, Limit: 100, Order: paging.OldestFirst}},
		"order=desc":                 {page: paging.Page{Number: 1, Limit: 100}},
		"page=00000000000000000001":  {page: paging.Page{Number: 1, Limit: 100}},
		"page=100000000000000000000": {page: paging.Page{Number: math.MaxInt64, Limit: 100}},
		"page=":                      {fault: "page"},
		"page=0":                     {fault: "page"},
		"page=-1":                    {fault: "page"},
		"page=%2B1":                  {fault: "page"},
		"page=1.5":                   {fault: "page"},
		"page=1e3":                   {fault: "page"},
		"page=0x10":                  {fault: "page"},
		"page=1%00":                  {fault: "page"},
		"page=one":                   {fault: "page"},
		"limit=0":                    {fault: "limit"},
		"limit=101":                  {fault: "limit"},
		"limit=99999999999999999999": {fault: "limit"},
		"order=up":                   {fault: "order"},
	} {
		t.Run(query, func(t *testing.T) {
			q, err := url.ParseQuery(query)
			if err != nil {
				t.Fatal(err)
			}
			got, err := paging.Parse(q)
			if want.fault != "" {
				if f := fault.Of(err); f == nil || f.Field != want.fault || f.Code != "invalid_parameter" {
					t.Errorf("got %v, want a fault of %s", err, want.fault)
				}
				return
			}
			if err != nil || got != want.page {
				t.Errorf("got %+v, %v, want %+v", got, err, want.page)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add("page=1&limit=100&order=asc")
	f.Add("page=18446744073709551616")
	f.Fuzz(func(t *testing.T, raw string) {
		q, _ := url.ParseQuery(raw)
		p, err := paging.Parse(q)
		if err != nil {
			if fault.Of(err) == nil {
				t.Errorf("%q is an internal error: %v", raw, err)
			}
			return
		}
		if p.Number < 1 || p.Limit < 1 || p.Limit > paging.MaxLimit || p.Offset() < 0 || p.Offset()+p.Limit < 0 {
			t.Errorf("%q gives %+v with offset %d", raw, p, p.Offset())
		}
	})
}

// cut computes the page the simple way: from all ordinals in order.
func cut(p paging.Page, ordinals []int64) []int64 {
	list := slices.Clone(ordinals)
	if p.Order == paging.NewestFirst {
		slices.Reverse(list)
	}
	from := min(p.Offset(), int64(len(list)))
	return list[from:min(from+p.Limit, int64(len(list)))]
}

func aPage(t *rapid.T) paging.Page {
	return paging.Page{
		Number: rapid.OneOf(rapid.Int64Range(1, 50), rapid.Int64Min(1)).Draw(t, "number"),
		Limit:  rapid.Int64Range(1, paging.MaxLimit).Draw(t, "limit"),
		Order:  paging.Order(rapid.IntRange(0, 1).Draw(t, "order")),
	}
}

func TestOrdinalsAreThePage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, total := aPage(t), rapid.Int64Range(0, 500).Draw(t, "total")
		all, got := []int64{}, []int64{}
		for ord := int64(1); ord <= total; ord++ {
			all = append(all, ord)
		}
		low, high := p.Ordinals(total)
		for ord := low; ord <= high; ord++ {
			got = append(got, ord)
		}
		if p.Order == paging.NewestFirst {
			slices.Reverse(got)
		}
		if diff := cmp.Diff(cut(p, all), got); diff != "" {
			t.Fatalf("%+v of %d (-want +got)\n%s", p, total, diff)
		}
	})
}

// Seek plus reading from there in order gives the same page as walking there.
func TestSeekFindsThePage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := aPage(t)
		var matching []int64
		counts := map[int64]int64{}
		for range rapid.IntRange(0, 400).Draw(t, "matches") {
			ord := rapid.Int64Range(1, 5*paging.BlockSize).Draw(t, "ord")
			if !slices.Contains(matching, ord) {
				matching = append(matching, ord)
				counts[paging.BlockOf(ord)]++
			}
		}
		slices.Sort(matching)
		blocks := []paging.Block{}
		for i := range int64(6) {
			if counts[i] > 0 {
				blocks = append(blocks, paging.Block{Index: i, N: counts[i]})
			}
		}
		from, skip, total, ok := p.Seek(blocks)
		if total != int64(len(matching)) || ok != (p.Offset() < total) {
			t.Fatalf("total %d of %d, ok %v", total, len(matching), ok)
		}
		got := []int64{}
		if ok {
			rest := slices.DeleteFunc(slices.Clone(matching), func(ord int64) bool {
				return p.Order == paging.NewestFirst && ord > from || p.Order == paging.OldestFirst && ord < from
			})
			if skip >= paging.BlockSize {
				t.Fatalf("skips %d rows", skip)
			}
			got = cut(paging.Page{Number: 1, Limit: p.Limit + skip, Order: p.Order}, rest)[skip:]
		}
		if diff := cmp.Diff(cut(p, matching), got, cmp.Transformer("", func(l []int64) []int64 { return append([]int64{}, l...) })); diff != "" {
			t.Fatalf("%+v (-want +got)\n%s", p, diff)
		}
	})
}

func TestLinks(t *testing.T) {
	u, err := url.Parse("/v2/licenses?status=active&page=3&limit=10")
	if err != nil {
		t.Fatal(err)
	}
	at := func(page string) string { return "</v2/licenses?limit=10&page=" + page + "&status=active>" }
	for name, c := range map[string]struct {
		number, total int64
		more          bool
		want          string
	}{
		"in the middle":   {3, 45, false, at("1") + `; rel="first", ` + at("2") + `; rel="prev", ` + at("4") + `; rel="next", ` + at("5") + `; rel="last"`},
		"the only one":    {1, 10, false, at("1") + `; rel="first", ` + at("1") + `; rel="last"`},
		"empty":           {1, 0, false, at("1") + `; rel="first", ` + at("1") + `; rel="last"`},
		"the last":        {5, 45, false, at("1") + `; rel="first", ` + at("4") + `; rel="prev", ` + at("5") + `; rel="last"`},
		"past the end":    {9, 45, false, at("1") + `; rel="first", ` + at("5") + `; rel="prev", ` + at("5") + `; rel="last"`},
		"without a total": {2, -1, true, at("1") + `; rel="first", ` + at("1") + `; rel="prev", ` + at("3") + `; rel="next"`},
		"nothing follows": {2, -1, false, at("1") + `; rel="first", ` + at("1") + `; rel="prev"`},
	} {
		if got := (paging.Page{Number: c.number, Limit: 10}).Links(u, c.total, c.more); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, c.want)
		}
	}
}
