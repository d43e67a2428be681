// Package paging describes a page of a long list: page and limit with their bounds, the order, the
// range of ordinals, and the Link header. It does not know the listed things.
package paging

import (
	"errors"
	"math"
	"net/url"
	"strconv"
	"strings"

	"claviger/internal/fault"
)

// Bounds of a page, from the specification.
const (
	MaxLimit     = 100
	DefaultLimit = 100
)

// Order is the direction in which a list is read.
type Order int

// The two orders. The default is newest first.
const (
	NewestFirst Order = iota
	OldestFirst
)

// Page is one page of a list: results (Number-1)*Limit+1 to Number*Limit. Number may be any
// positive int64; Offset saturates.
type Page struct {
	Number int64
	Limit  int64
	Order  Order
}

// First returns the page for a request without parameters.
func First() Page { return Page{Number: 1, Limit: DefaultLimit} }

// Parse reads the query parameters page, limit and order. Missing ones have their defaults; one
// that is out of bounds is a fault that names it.
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

// natural reads an unsigned whole number. A number too large for int64 saturates: it is a page far
// past the end.
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

// Offset returns the number of results before the page.
func (p Page) Offset() int64 {
	if p.Number-1 > (math.MaxInt64-MaxLimit)/p.Limit {
		return math.MaxInt64 - MaxLimit
	}
	return (p.Number - 1) * p.Limit
}

// Ordinals returns the range low..high (both inclusive) of the page in a list with the ordinals
// 1..total without a gap, oldest first. An empty page has high < low.
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

// links builds a Link header.
type links struct {
	url   *url.URL
	limit int64
	parts []string
}

// add adds a link with the given parameter, page or cursor.
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

// Links returns the Link header of the page. With total < 0 (a filtered list with an unknown total)
// there is no last, and more says whether a next one exists.
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

// CursorLinks returns the Link header of a page with a cursor to the next one, "" on the last.
// There is a previous page only if this one was requested by number.
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

// BlockSize is the number of ordinals that share a count in a list filtered by a changing value:
// see Seek.
const BlockSize = 4096

// Block counts the ordinals Index*BlockSize+1 … (Index+1)*BlockSize that match a list's filter.
type Block struct {
	Index int64
	N     int64
}

// BlockOf returns the index of the block of an ordinal.
func BlockOf(ord int64) int64 { return (ord - 1) / BlockSize }

// Seek finds the page in a filtered list from its block counts (in rising order) instead of walking
// there. Start reading at ordinal from (downwards if newest first, upwards otherwise) and skip
// matching rows, fewer than BlockSize at any depth. ok is false past the end; total counts all
// matches.
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
