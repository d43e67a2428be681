// Package paging describes a page of a long list: page and limit with their bounds, the
// order, the range of ordinals, and the Link header. It does not know what is listed.
package paging

import (
	"errors"
	"math"
	"net/url"
	"strconv"
	"strings"

	"claviger/internal/fault"
)

// The bounds of a page, from the specification.
const (
	MaxLimit     = 100
	DefaultLimit = 100
)

// Order says from which end a list is read.
type Order int

// The two orders. Newest first is what a list has unless asked otherwise.
const (
	NewestFirst Order = iota
	OldestFirst
)

// Page is one page of a list: results (Number-1)*Limit+1 to Number*Limit.
// Number may be as large as int64 goes; Offset saturates.
type Page struct {
	Number int64
	Limit  int64
	Order  Order
}

// First is the page that a request without parameters asks for.
func First() Page { return Page{Number: 1, Limit: DefaultLimit} }

// Parse reads the query parameters page, limit and order. A missing one has its
// default; one that is out of bounds is a fault that names it.
func Parse(q url.Values) (Page, error) {
	p := First()
	if q.Has("page") {
		n, ok := natural(q.Get("page"))
		if !ok || n < 1 {
			return p, fault.Parameter("page", "must be a whole number from 1; pages start at 1.")
		}
		p.Number = n
	}
	if q.Has("limit") {
		n, ok := natural(q.Get("limit"))
		if !ok || n < 1 || n > MaxLimit {
			return p, fault.Parameter("limit", "must be a whole number from 1 to %d.", MaxLimit)
		}
		p.Limit = n
	}
	switch q.Get("order") {
	case "", "desc":
	case "asc":
		p.Order = OldestFirst
	default:
		return p, fault.Parameter("order", "must be asc (oldest first) or desc (newest first, the default).")
	}
	return p, nil
}

// natural reads a whole number without sign. One too large for int64 is a
// number all the same (a page far past the end), so it saturates.
func natural(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return math.MaxInt64, true
	}
	return n, err == nil
}

// Offset is how many results stand before the page.
func (p Page) Offset() int64 {
	if p.Number-1 > (math.MaxInt64-MaxLimit)/p.Limit {
		return math.MaxInt64 - MaxLimit
	}
	return (p.Number - 1) * p.Limit
}

// Ordinals is the range low..high (both inclusive) of the page in a list whose
// total results carry the ordinals 1..total without a gap, oldest first. An
// empty page has high < low.
func (p Page) Ordinals(total int64) (low, high int64) {
	off := p.Offset()
	if off >= total {
		return 1, 0
	}
	if p.Order == OldestFirst {
		return off + 1, min(off+p.Limit, total)
	}
	return max(total-off-p.Limit+1, 1), total - off
}

// links writes a Link header.
type links struct {
	url   *url.URL
	limit int64
	parts []string
}

// add adds the link to the page whose parameter, page or cursor, has this value.
func (l *links) add(rel, name, value string) {
	q := l.url.Query()
	q.Del("page")
	q.Del("cursor")
	q.Set(name, value)
	q.Set("limit", strconv.FormatInt(l.limit, 10))
	l.parts = append(l.parts, "<"+l.url.EscapedPath()+"?"+q.Encode()+`>; rel="`+rel+`"`)
}

// page adds the link to a page by its number.
func (l *links) page(rel string, number int64) { l.add(rel, "page", strconv.FormatInt(number, 10)) }

func (l *links) String() string { return strings.Join(l.parts, ", ") }

// Links is the Link header of the page. With total < 0 (a filtered list whose
// total is not known) there is no last, and more says whether a next one exists.
func (p Page) Links(u *url.URL, total int64, more bool) string {
	l := links{url: u, limit: p.Limit}
	l.page("first", 1)
	last := p.Number
	if total >= 0 {
		last = max((total+p.Limit-1)/p.Limit, 1)
		more = p.Number < last
	}
	if p.Number > 1 {
		prev := p.Number - 1
		if total >= 0 {
			prev = min(prev, last)
		}
		l.page("prev", prev)
	}
	if more {
		l.page("next", p.Number+1)
	}
	if total >= 0 {
		l.page("last", last)
	}
	return l.String()
}

// CursorLinks is the Link header of a page whose next one begins at a cursor, "" on
// the last. What is before a page is known only where it was asked for by its number.
func (p Page) CursorLinks(u *url.URL, next string) string {
	l := links{url: u, limit: p.Limit}
	l.page("first", 1)
	if p.Number > 1 {
		l.page("prev", p.Number-1)
	}
	if next != "" {
		l.add("next", "cursor", next)
	}
	return l.String()
}

// BlockSize is how many ordinals share a count in a list that is filtered by a
// value that its rows change: see Seek.
const BlockSize = 4096

// Block is how many of the ordinals Index*BlockSize+1 … (Index+1)*BlockSize have
// the value that a list is filtered by.
type Block struct {
	Index int64
	N     int64
}

// BlockOf is the index of the block that an ordinal is counted in.
func BlockOf(ord int64) int64 { return (ord - 1) / BlockSize }

// Seek finds the page in a filtered list from its block counts (in rising
// order) instead of walking there: start reading at ordinal from (downwards when
// newest first, upwards otherwise) and skip so many matching rows, fewer than
// BlockSize at any depth. ok is false past the end; total counts all matches.
func (p Page) Seek(blocks []Block) (from, skip, total int64, ok bool) {
	for _, b := range blocks {
		total += b.N
	}
	skip = p.Offset()
	if skip >= total {
		return 0, 0, total, false
	}
	for i := range blocks {
		b := blocks[i]
		from = b.Index*BlockSize + 1
		if p.Order == NewestFirst {
			b = blocks[len(blocks)-1-i]
			from = (b.Index + 1) * BlockSize
		}
		if skip < b.N {
			break
		}
		skip -= b.N
	}
	return from, skip, total, true
}
