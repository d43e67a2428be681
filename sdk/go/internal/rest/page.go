package rest

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Page is one page of a list.
type Page[T any] struct {
	Items []T
	Total int64  // on all pages; -1 if unknown
	Next  string // target of the next page, from the service; "" on the last
}

// GetPage reads the page of a list at a target: a path with its query.
func GetPage[T any](ctx context.Context, c *Client, target string) (Page[T], error) {
	u, err := url.Parse(target)
	if err != nil || u.Host != "" {
		return Page[T]{}, fmt.Errorf("claviger: %q is not a page of this service", target)
	}
	var list struct {
		Items []T `json:"items"`
	}
	resp, err := c.Do(ctx, Request{Method: http.MethodGet, Path: u.EscapedPath(), Query: u.Query()}, &list)
	if err != nil {
		return Page[T]{}, err
	}
	p := Page[T]{Items: list.Items, Total: -1, Next: next(resp.Header.Get("Link"))}
	if n, err := strconv.ParseInt(resp.Header.Get("X-Total-Count"), 10, 64); err == nil {
		p.Total = n
	}
	return p, nil
}

// All reads a whole list, page by page. The error of a page is the last pair.
func All[T any](ctx context.Context, c *Client, target string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for target != "" {
			p, err := GetPage[T](ctx, c, target)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			target = p.Next
		}
	}
}

// next returns the target of the link to the next page, or "".
func next(header string) string {
	for link := range strings.SplitSeq(header, ", <") {
		target, rel, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
		if strings.Contains(rel, `rel="next"`) {
			return target
		}
	}
	return ""
}

// Target returns a path with a query, without empty parameters.
func Target(path string, query url.Values) string {
	for name, values := range query {
		if len(values) == 0 || values[0] == "" {
			delete(query, name)
		}
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// Number formats a number for a query; zero is left out.
func Number[N int | int64](n N) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}
