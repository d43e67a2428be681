package requestlog

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"claviger/internal/sqldb"
)

// The interval and timeout of writes, and the rows per transaction, so that none blocks others for
// long.
const (
	writeEvery = time.Second
	writeTime  = 5 * time.Second
	writeRows  = 256
)

// Run writes the queue once a second until ctx ends, and then the rest. It runs on every node.
func (l *Log) Run(ctx context.Context) {
	ticker := time.NewTicker(writeEvery)
	defer ticker.Stop()
	for failing := false; ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			ctx = context.WithoutCancel(ctx)
			l.report(ctx, l.Flush(ctx), failing)
			return
		}
		err := l.Flush(ctx)
		l.report(ctx, err, failing)
		failing = err != nil
	}
}

// report logs when writes start to fail and when they succeed again.
func (l *Log) report(ctx context.Context, err error, failing bool) {
	if l.Logger == nil {
		return
	}
	switch {
	case err != nil && !failing && ctx.Err() == nil:
		l.Logger.Warn(
			"the log of refused requests cannot be written; it is tried again, and what does not fit meanwhile is "+
				"only counted",
			"err",
			err,
		)
	case err == nil && failing:
		l.Logger.Info("the log of refused requests is written again")
	}
}

// Flush writes the queue. After a failure, the next call first retries the same batch.
func (l *Log) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if l.writing == nil {
		l.writing = l.drain()
		l.nameLicenses(ctx, l.writing)
	}
	for _, partners := range l.writing.portions() {
		err := l.DB.Write(ctx, func(tx *sqldb.Tx) error { return l.writing.write(ctx, tx, partners) })
		if err != nil {
			l.Metrics.fail()
			return fmt.Errorf("write the log of refused requests: %w", err)
		}
		l.writing.remove(partners)
	}
	l.writing = nil
	return nil
}

// nameLicenses replaces license ids with keys. Calls without a key are stored, too.
func (l *Log) nameLicenses(ctx context.Context, b *batch) {
	var ids []int64
	b.each(func(c *Call) {
		if c.License == "" && c.LicenseID != 0 {
			ids = append(ids, c.LicenseID)
		}
	})
	if len(ids) == 0 || l.Licenses == nil {
		return
	}
	slices.Sort(ids)
	keys, err := l.Licenses.Keys(ctx, slices.Compact(ids))
	if err != nil {
		return
	}
	b.each(func(c *Call) {
		if c.License == "" {
			c.License = keys[c.LicenseID]
		}
	})
}

// each calls f with each call to be stored.
func (b *batch) each(f func(*Call)) {
	for _, list := range b.calls {
		for i := range list {
			f(&list[i])
		}
	}
	for _, all := range b.groups {
		for _, g := range all {
			f(&g.last)
		}
	}
}

// portions splits the partners of the batch into transactions. They are ordered by id, so that two
// nodes lock them in the same order.
func (b *batch) portions() [][]int64 {
	rows := map[int64]int{}
	for id, list := range b.calls {
		rows[id] += len(list)
	}
	for id, all := range b.groups {
		rows[id] += len(all)
	}
	for key := range b.counts {
		rows[key.partnerID]++
	}
	var portions [][]int64
	n := 0
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		if n == 0 || n+rows[id] > writeRows {
			portions = append(portions, nil)
			n = 0
		}
		last := len(portions) - 1
		portions[last] = append(portions[last], id)
		n += rows[id]
	}
	return portions
}

// remove deletes written partners from the batch.
func (b *batch) remove(partners []int64) {
	for _, id := range partners {
		delete(b.calls, id)
		delete(b.groups, id)
	}
	maps.DeleteFunc(b.counts, func(key countKey, _ *count) bool { return slices.Contains(partners, key.partnerID) })
}

// write stores the calls and counts of some partners.
func (b *batch) write(ctx context.Context, tx *sqldb.Tx, partners []int64) error {
	for _, id := range partners {
		calls := b.calls[id]
		groups := sortedGroups(b.groups[id])
		if len(calls)+len(groups) > 0 {
			type numbers struct{ last, calls int64 }
			at, err := sqldb.One(ctx, tx, func(r *sqldb.Row, n *numbers) error { return r.Scan(&n.last, &n.calls) },
				`INSERT INTO refused_counters (partner_id, last, calls) VALUES ($1, $2, $3)
				ON CONFLICT (partner_id)
				DO UPDATE SET last = refused_counters.last + excluded.last,
				calls = refused_counters.calls + excluded.calls
				RETURNING last, calls`, id, len(calls)+len(groups), len(calls))
			if err != nil {
				return err
			}
			seq := at.last - int64(len(calls)+len(groups))
			slot := at.calls - int64(len(calls))
			for i, c := range calls {
				writeCall(tx, c.clean(), seq+int64(i)+1, (slot+int64(i))%slots)
			}
			for i, g := range groups {
				writeGroup(tx, g, seq+int64(len(calls)+i)+1)
			}
		}
		if len(groups) > 0 {
			tx.Queue(`DELETE FROM refused_groups WHERE partner_id = $1 AND seq IN (
				SELECT seq FROM refused_groups WHERE partner_id = $1 ORDER BY at DESC, seq DESC
				LIMIT $2 OFFSET $3)`, id, MaxEntries, MaxGroups)
		}
	}
	for key, n := range b.counts {
		if slices.Contains(partners, key.partnerID) {
			tx.Queue(
				`INSERT INTO request_counts (partner_id, hour, answered, refused, dropped) VALUES ($1, $2, $3, $4, $5)
				ON CONFLICT (partner_id, hour) DO UPDATE SET answered = request_counts.answered + excluded.answered,
					refused = request_counts.refused + excluded.refused,
					dropped = request_counts.dropped + excluded.dropped`,
				key.partnerID,
				key.hour,
				n.answered,
				n.refused,
				n.dropped,
			)
		}
	}
	return nil
}

// sortedGroups returns the groups of a partner, the one with the oldest last call first.
func sortedGroups(all map[groupKey]*group) []*group {
	return slices.SortedFunc(maps.Values(all), func(a, b *group) int {
		return cmp.Or(
			a.last.At.Compare(b.last.At),
			cmp.Compare(a.last.Path, b.last.Path),
			cmp.Compare(a.last.Code, b.last.Code),
		)
	})
}

// writeCall writes a call into a slot and replaces the previous one.
func writeCall(tx *sqldb.Tx, c Call, seq, slot int64) {
	tx.Queue(
		`INSERT INTO refused_calls (partner_id, slot, seq, at, method, path, status, code, cause, message, request_id,
			license_key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (partner_id, slot)
		DO UPDATE SET seq = excluded.seq, at = excluded.at, method = excluded.method, path = excluded.path,
			status = excluded.status, code = excluded.code, cause = excluded.cause, message = excluded.message,
			request_id = excluded.request_id, license_key = excluded.license_key`,
		c.PartnerID,
		slot,
		seq,
		c.At,
		c.Method,
		c.Path,
		c.Status,
		c.Code,
		c.Cause,
		c.Message,
		c.RequestID,
		c.License,
	)
}

// writeGroup adds to a group that another node may also have written.
func writeGroup(tx *sqldb.Tx, g *group, seq int64) {
	c := g.last.clean()
	tx.Queue(
		`INSERT INTO refused_groups (partner_id, day, proven, method, path, status, code, cause, seq, first_at, at,
			count, message, request_id, license_key)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
		ON CONFLICT (partner_id, day, proven, method, path, status, code, cause)
		DO UPDATE SET count = refused_groups.count + excluded.count,
			first_at = CASE WHEN excluded.first_at < refused_groups.first_at THEN excluded.first_at
			ELSE refused_groups.first_at END,
			at = CASE WHEN excluded.at > refused_groups.at THEN excluded.at ELSE refused_groups.at END,
			message = excluded.message, request_id = excluded.request_id, license_key = excluded.license_key`,
		c.PartnerID,
		dayOf(c.At),
		c.Proven,
		c.Method,
		c.Path,
		c.Status,
		c.Code,
		c.Cause,
		seq,
		g.firstAt,
		c.At,
		g.n,
		c.Message,
		c.RequestID,
		c.License,
	)
}
