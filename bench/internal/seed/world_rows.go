package seed

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"claviger/internal/sqldb"
)

// As in rows.go, licenses are numbered i = 1…n and event e is the k-th of license i = (e-1) % n +
// 1. Of ten successive licenses, seven belong to the first partner; the others are distributed in
// turn among the rest, numbered m = 0…. So every partner sells all the time.
//
// Every twentieth event was accepted at its second attempt. Of the newest, some are still open or
// given up, of the first partner and of others: see {open} and {gone}.
type world struct {
	licenses, events, begun, end int64
	postgres                     bool
	words                        *strings.Replacer
}

// worldStep writes a part of it in its own transaction.
type worldStep struct {
	what string
	do   func(context.Context, *sqldb.Tx) error
}

// The newest events that are still open, and the range in which some were given up.
const (
	newestOpen = 20_000
	newestGone = 200_000
)

// newWorld returns the steps that fill a database, the ledger last, so that an incomplete one is
// recognizable.
func newWorld(licenses int64, postgres bool) []worldStep {
	w := &world{licenses: licenses, events: licenses * EventsPerLicense, postgres: postgres, begun: begun(licenses)}
	w.end = w.begun + w.events*spacing
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	w.words = strings.NewReplacer("{n}", number(licenses), "{events}", number(w.events), "{begun}", number(w.begun),
		"{end}", number(w.end),
		"{spacing}", number(spacing), "{buyers}", number(licenses*4/10), "{others}", number(WorldPartners-1),
		"{partner}", `(CASE WHEN (i - 1) % 10 < 7 THEN 1 ELSE 2 + m % {others} END)`,
		"{ord}", `(CASE WHEN (i - 1) % 10 < 7 THEN (i - 1) / 10 * 7 + (i - 1) % 10 + 1 ELSE m / {others} + 1 END)`,
		"{count}", `(CASE WHEN (i - 1) % 10 < 7 THEN {n} / 10 * 7
			ELSE ({n} / 10 * 3 + {others} - 1 - m % {others}) / {others} END)`,
		"{buyer}", `(1 + i * 7919 % {buyers})`,
		"{at}", `({begun} + e * {spacing})`,
		"{kind}", `(CASE WHEN k = 0 OR {status} = 1 THEN 1 WHEN k = 4 THEN {status} ELSE 2 END)`,
		"{reason}", `(CASE WHEN k = 0 THEN 'purchased' WHEN {status} = 1 THEN 'plan_changed' WHEN k = 1 THEN 'redeemed'
			WHEN k = 4 AND {status} = 3 THEN 'refunded' ELSE 'plan_changed' END)`,
		"{open}", fmt.Sprintf(`(e %% 50 IN (7, 9) AND {events} - e < %d)`, newestOpen),
		"{gone}", fmt.Sprintf(`(e %% 50 IN (4, 8) AND {events} - e < %d)`, newestGone),
		"{line}", "'\n'",
		"{refused}", `(CASE WHEN i % 3 = 0 THEN 401 WHEN i % 3 = 1 THEN 500 ELSE 0 END)`)
	var indexes []index
	steps := []worldStep{{"no indexes", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		indexes, err = w.dropIndexes(ctx, tx)
		return err
	}}}
	steps = append(steps, w.parts("licenses", licenses, worldLicenses, worldPurchases, worldLinks, worldAudit)...)
	steps = append(steps, w.parts("buyers", licenses*4/10, worldBuyers)...)
	steps = append(steps, w.parts("mails", licenses/10, worldMails)...)
	steps = append(steps, w.parts("events", w.events, worldEvents)...)
	steps = append(steps, w.parts("deliveries", w.events, worldDeliveries)...)
	steps = append(steps, w.parts("attempts", w.events/20*21, worldAttempts)...)
	steps = append(steps, w.once("open deliveries", worldOutbox),
		w.once("refused calls and acts", worldCalls, worldCallCounter, worldGroups, worldCounts, worldActs),
		w.once("numbers", worldDays, worldHours(), worldFailures, worldCursors))
	return append(steps, worldStep{"indexes", func(ctx context.Context, tx *sqldb.Tx) error {
		return makeIndexes(ctx, tx, indexes)
	}},
		worldStep{"counts", w.count})
}

// text returns a statement with its placeholders replaced, recursively.
func (w *world) text(sql string) string {
	for range 4 {
		sql = words.Replace(w.words.Replace(sql))
	}
	return sql
}

// parts returns steps that run statements for the numbers 1 to n. SQLite stores the changes of a
// transaction in memory, so there are several.
func (w *world) parts(what string, n int64, statements ...string) []worldStep {
	parts := int64(20)
	if w.postgres {
		parts = 1
	}
	var steps []worldStep
	for part := range parts {
		from, to := n*part/parts+1, n*(part+1)/parts
		steps = append(steps, worldStep{what, func(ctx context.Context, tx *sqldb.Tx) error {
			for _, sql := range statements {
				if _, err := tx.Exec(ctx, fmt.Sprintf(`WITH RECURSIVE numbers (x) AS (SELECT CAST(%d AS bigint)
					UNION ALL SELECT x + 1 FROM numbers WHERE x < %d)`, from, to)+
					w.text(sql)); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	return steps
}

func (w *world) once(what string, statements ...string) worldStep {
	return worldStep{what, func(ctx context.Context, tx *sqldb.Tx) error {
		for _, sql := range statements {
			if _, err := tx.Exec(ctx, w.text(sql)); err != nil {
				return err
			}
		}
		return nil
	}}
}

// dropIndexes drops the indexes of the large tables if that is faster. On SQLite it is not: it
// sorts in memory, which does not suffice to recreate them.
func (w *world) dropIndexes(ctx context.Context, tx *sqldb.Tx) ([]index, error) {
	if !w.postgres {
		return nil, nil
	}
	return dropIndexes(ctx, tx, "licenses", "events", "deliveries", "webhook_responses", "users", "purchases",
		"purchase_links", "audit_entries", "mails")
}

// count writes counts of blocks, sequences and ledgers.
func (w *world) count(ctx context.Context, tx *sqldb.Tx) error {
	var statements []string
	for partner := range WorldPartners { // one at a time, because of SQLite's memory
		for _, table := range []string{"license", "event"} {
			statements = append(statements, fmt.Sprintf(`INSERT INTO %[1]s_blocks (partner_id, status, block, n)
				SELECT partner_id, status, (ord - 1) / 4096, count(*) FROM %[1]ss WHERE partner_id = %[2]d
				GROUP BY partner_id, status, (ord - 1) / 4096`, table, partner+1))
		}
	}
	for name, last := range map[string]string{"license_ids": "{n}", "event_ids": "{events}", "purchase_ids": "{n}"} {
		if w.postgres {
			statements = append(statements, `SELECT setval('`+name+`', `+last+`)`)
		} else {
			statements = append(statements, `UPDATE sequences SET last = `+last+` WHERE name = '`+name+`'`)
		}
	}
	statements = append(statements, `UPDATE partner_counters SET licenses = (SELECT max(ord) FROM licenses AS l
		WHERE l.partner_id = partner_counters.partner_id),
		events = (SELECT max(ord) FROM events AS e WHERE e.partner_id = partner_counters.partner_id), clock = {end}`)
	return w.once("", statements...).do(ctx, tx)
}
