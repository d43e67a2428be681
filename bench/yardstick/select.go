package main

import (
	"context"
	"net/http"
	"runtime"
	"strconv"

	"claviger/bench/internal/yard"
)

// page is the service's statement for a page of licenses, newest first.
const page = `SELECT license_key, redemption_id, status, tier, created_at, updated_at,
	(SELECT coalesce(max(ord), 0) FROM licenses WHERE partner_id = $1) FROM licenses
	WHERE partner_id = $1 AND ord > (SELECT coalesce(max(ord), 0) FROM licenses WHERE partner_id = $1) - $2 - $3
	AND ord <= (SELECT coalesce(max(ord), 0) FROM licenses WHERE partner_id = $1) - $2 ORDER BY ord DESC`

// license is a row of page.
type license struct {
	key, redemption        string
	status, tier           int64
	created, updated, last int64
}

// selecting reads a page of 100 licenses through the driver, and then writes the given bytes. It
// neither authenticates nor encodes.
func selecting(ctx context.Context, line []byte) (http.HandlerFunc, error) {
	s, err := read[yard.Selection](line)
	if err != nil {
		return nil, err
	}
	var acquire func() (run statement, release func())
	if isPostgres(s.DB) {
		pool, err := openPool(ctx, s.DB)
		if err != nil {
			return nil, err
		}
		acquire = func() (statement, func()) { return onPostgres(pool), func() {} }
	} else {
		idle := make(chan *file, 2*runtime.NumCPU())
		for range cap(idle) {
			f, err := openFile(s.DB)
			if err != nil {
				return nil, err
			}
			idle <- f
		}
		acquire = func() (statement, func()) {
			f := <-idle
			return f.run, func() { idle <- f }
		}
	}
	return (&selector{s, acquire}).serve, nil
}

// selector serves a page after reading one.
type selector struct {
	yard.Selection
	acquire func() (run statement, release func())
}

func (s *selector) serve(w http.ResponseWriter, r *http.Request) {
	number, _ := strconv.ParseInt(r.URL.Query().Get("page"), 10, 64)
	list := make([]license, 0, 100)
	run, release := s.acquire()
	err := run(r.Context(), page, []any{s.PartnerID, max(number-1, 0) * 100, int64(100)},
		func(scan func(...any) error) error {
			list = append(list, license{})
			l := &list[len(list)-1]
			return scan(&l.key, &l.redemption, &l.status, &l.tier, &l.created, &l.updated, &l.last)
		})
	release()
	if err != nil || len(list) != 100 {
		http.Error(w, "the page was not read", http.StatusInternalServerError)
		return
	}
	s.Head(w)
	_, _ = w.Write(s.Body)
}
