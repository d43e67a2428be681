package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
	"claviger/internal/webhook/webhooktest"
)

// mixed returns an outbox with deliveries of partner 1 in every state, a minute apart, and one of
// partner 2. Their ids are these numbers:
//
//	1 delivered with 200, 2 delivered with 200 after 500, 3 exhausted with 500,
//	4 failing with 401, 5 of partner 2, 6 superseded with 422, 7 failing with no answer,
//	8 waiting behind 7, 9 delivered with 204, 10 sent again after 500 and waiting
func mixed(t *testing.T) *webhook.Outbox {
	t.Helper()
	o := &webhook.Outbox{DB: sqldbtest.Open(t), Now: func() time.Time { return webhooktest.Start.Add(24 * time.Hour) }}
	webhooktest.Write(t, o, func(tx *sqldb.Tx) {
		for id := 1; id <= 2; id++ {
			tx.Queue(`INSERT INTO partners (id, name, brand, client_id, strict, single_key, created_at, updated_at)
				VALUES ($1, '', '', $2, $3, $3, 0, 0)`, id, fmt.Sprint(id), false)
		}
		for _, d := range []struct {
			id, partner, license int64
			kind, state, tried   int
			answers              []int
		}{
			{1, 1, 1, 1, 2, 0, []int{200}},
			{2, 1, 2, 1, 2, 0, []int{500, 200}},
			{3, 1, 3, 1, 3, 9, []int{500, 500}},
			{4, 1, 4, 1, 1, 1, []int{401}},
			{5, 2, 5, 1, 3, 9, []int{500}},
			{6, 1, 2, 2, 4, 7, []int{422}},
			{7, 1, 2, 3, 1, 2, []int{0, 0}},
			{8, 1, 2, 2, 1, 0, nil},
			{9, 1, 1, 2, 2, 0, []int{204}},
			{10, 1, 1, 3, 1, 0, []int{500}},
		} {
			at := webhooktest.Start.Add(time.Duration(d.id) * time.Minute)
			n := notice(d.id, d.partner, d.license, at)
			n.Kind = d.kind
			o.Enqueue(tx, n)
			tx.Queue(`UPDATE outbox SET state = $2, attempts = $3, due_at = $4 WHERE event_id = $1`, d.id, d.state, d.tried, at.Add(time.Hour))
			for _, status := range d.answers {
				recordAnswer(tx, d.id, status)
			}
		}
		tx.Queue(`DELETE FROM outbox WHERE state = 2`)
	})
	return o
}

// recordAnswer records an attempt.
func recordAnswer(tx *sqldb.Tx, event int64, status int) {
	body := "no"
	if status == 0 {
		body = "the connection was refused"
	}
	tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, diagnosis, created_at, updated_at)
		VALUES ($1, '', $2, $3, 12, '', $4, '', $5, $5)`, event, status, body, status/100 == 2, webhooktest.Start)
}

func ids(list history.List) []int64 {
	out := []int64{}
	for _, d := range list.Deliveries {
		out = append(out, d.EventID)
	}
	return out
}

func codes(t *testing.T, s string) history.Codes {
	t.Helper()
	c, ok := history.ParseCodes(s)
	if !ok || c.String() != s {
		t.Fatalf("%q is read as %+v, %v", s, c, ok)
	}
	return c
}

func TestListFilters(t *testing.T) {
	o := mixed(t)
	at := func(minutes int) time.Time { return webhooktest.Start.Add(time.Duration(minutes) * time.Minute) }
	for name, c := range map[string]struct {
		filter history.Filter
		want   []int64
	}{
		"all":                 {history.Filter{}, []int64{10, 9, 8, 7, 6, 4, 3, 2, 1}},
		"delivered":           {history.Filter{State: history.Delivered}, []int64{9, 2, 1}},
		"waiting":             {history.Filter{State: history.Waiting}, []int64{10, 8}},
		"failing":             {history.Filter{State: history.Failing}, []int64{7, 4}},
		"exhausted":           {history.Filter{State: history.Exhausted}, []int64{3}},
		"superseded":          {history.Filter{State: history.Superseded}, []int64{6}},
		"failed":              {history.Filter{State: history.Failed}, []int64{7, 6, 4, 3}},
		"kind":                {history.Filter{Kind: 2}, []int64{9, 8, 6}},
		"code":                {history.Filter{Codes: codes(t, "500")}, []int64{3}},
		"class":               {history.Filter{Codes: codes(t, "4xx")}, []int64{6, 4}},
		"good class":          {history.Filter{Codes: codes(t, "2xx")}, []int64{9, 2, 1}},
		"refused":             {history.Filter{Codes: codes(t, "refused")}, []int64{7}},
		"timeout":             {history.Filter{Codes: codes(t, "timeout")}, []int64{}},
		"no answer":           {history.Filter{Codes: codes(t, "none")}, []int64{7}},
		"code and state":      {history.Filter{Codes: codes(t, "4xx"), State: history.Failing}, []int64{4}},
		"range":               {history.Filter{From: at(3), To: at(8)}, []int64{7, 6, 4, 3}},
		"range of failed":     {history.Filter{State: history.Failed, From: at(4), To: at(7)}, []int64{6, 4}},
		"since":               {history.Filter{From: at(9)}, []int64{10, 9}},
		"event":               {history.Filter{EventID: 6}, []int64{6}},
		"event and state":     {history.Filter{EventID: 6, State: history.Delivered}, []int64{}},
		"event of another":    {history.Filter{EventID: 5}, []int64{}},
		"license":             {history.Filter{LicenseID: 2}, []int64{8, 7, 6, 2}},
		"license and kind":    {history.Filter{LicenseID: 2, Kind: 3}, []int64{7}},
		"license of another":  {history.Filter{LicenseID: 5}, []int64{}},
		"license and a range": {history.Filter{LicenseID: 2, From: at(7), To: at(8)}, []int64{7}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := read(o).List(t.Context(), 1, c.filter, history.Key{}, 50)
			if err != nil {
				t.Fatal(err)
			}
			webhooktest.Same(t, "found", ids(list), c.want)
			if !list.Next.IsZero() || !list.SearchedTo.IsZero() {
				t.Errorf("there is more: %+v", list.Next)
			}
			n, more, err := read(o).Count(t.Context(), 1, c.filter, 100)
			if err != nil || n != len(c.want) || more {
				t.Errorf("counted %d, %v, %v", n, more, err)
			}
			// The same in pages of one.
			var paged []int64
			for key := (history.Key{}); ; {
				page, err := read(o).List(t.Context(), 1, c.filter, key, 1)
				if err != nil || len(page.Deliveries) > 1 {
					t.Fatal(page, err)
				}
				paged = append(paged, ids(page)...)
				if key = page.Next; key.IsZero() {
					break
				}
				if got, ok := history.ParseKey(key.String()); !ok || got != key {
					t.Fatalf("%+v is read as %+v, %v", key, got, ok)
				}
			}
			webhooktest.Same(t, "in pages", append([]int64{}, paged...), c.want)
		})
	}
}

func TestListShows(t *testing.T) {
	o := mixed(t)
	list, err := read(o).List(t.Context(), 1, history.Filter{}, history.Key{}, 50)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64]string{}
	for _, d := range list.Deliveries {
		got[d.EventID] = fmt.Sprintf("%s, %d tries, %d %s %v, next %v", d.State, d.Attempts, d.Last.Status, d.Last.Cause, d.Last.Took, !d.NextAt.IsZero())
	}
	webhooktest.Same(t, "rows", got, map[int64]string{
		1: "delivered, 1 tries, 200  12ms, next false", 2: "delivered, 2 tries, 200  12ms, next false", 3: "exhausted, 2 tries, 500  12ms, next false",
		4: "failing, 1 tries, 401  12ms, next true", 6: "superseded, 1 tries, 422  12ms, next false",
		7: "failing, 2 tries, 0 the connection was refused 12ms, next true", 8: "waiting, 0 tries, 0  0s, next true",
		9: "delivered, 1 tries, 204  12ms, next false", 10: "waiting, 1 tries, 0  0s, next true",
	})
}

// TestListIsBounded: a filter that no index serves searches a bounded number of deliveries. The
// page says how far, and the next one continues from there.
func TestListIsBounded(t *testing.T) {
	const events = history.MaxLooked + 700
	o := &webhook.Outbox{DB: sqldbtest.Open(t), Now: func() time.Time { return webhooktest.Start }}
	webhooktest.Write(t, o, func(tx *sqldb.Tx) {
		for i := int64(1); i <= events; i++ {
			n := notice(i, 1, i, webhooktest.Start.Add(time.Duration(i)*time.Second))
			n.First = true
			if i == 3 {
				n.Kind = 2
			}
			o.Enqueue(tx, n)
		}
		tx.Queue(`DELETE FROM outbox`)
	})
	list, err := read(o).List(t.Context(), 1, history.Filter{Kind: 2}, history.Key{}, 50)
	want := webhooktest.Start.Add((events - history.MaxLooked + 1) * time.Second)
	if err != nil || len(list.Deliveries) != 0 || !list.SearchedTo.Equal(want) || list.Next.EventID != events-history.MaxLooked+1 {
		t.Errorf("found %v, searched to %v, next %+v, %v; want %v", ids(list), list.SearchedTo, list.Next, err, want)
	}
	list, err = read(o).List(t.Context(), 1, history.Filter{Kind: 2}, list.Next, 50)
	if err != nil || !list.Next.IsZero() {
		t.Error(list.Next, err)
	}
	webhooktest.Same(t, "found then", ids(list), []int64{3})
	if n, more, err := read(o).Count(t.Context(), 1, history.Filter{}, 1000); n != 1000 || !more || err != nil {
		t.Errorf("counted %d, %v, %v", n, more, err)
	}
}

// TestPlans: with many rows, every statement is served by an index, on both databases.
func TestPlans(t *testing.T) {
	o := many(t)
	t.Run("list", func(t *testing.T) { listPlans(t, o) })
	t.Run("list of all", func(t *testing.T) { listAllPlans(t, o) })
	t.Run("causes", func(t *testing.T) { causesPlan(t, o) })
	t.Run("trouble", func(t *testing.T) { troublePlans(t, o) }) // last, because it changes rows
}

// listPlans: every statement of the list is served by an index, with any filter.
func listPlans(t *testing.T, o *webhook.Outbox) {
	t.Helper()
	for name, c := range map[string]struct {
		filter  history.Filter
		indexes []string
	}{
		"all":       {history.Filter{}, []string{"deliveries_made"}},
		"range":     {history.Filter{From: webhooktest.Start, To: webhooktest.Start.Add(time.Hour)}, []string{"deliveries_made"}},
		"delivered": {history.Filter{State: history.Delivered}, []string{"deliveries_made"}},
		"waiting":   {history.Filter{State: history.Waiting}, nil},
		"failing":   {history.Filter{State: history.Failing}, []string{"outbox_failing"}},
		"exhausted": {history.Filter{State: history.Exhausted}, []string{"outbox_given_up"}},
		"failed":    {history.Filter{State: history.Failed}, []string{"outbox_failing", "outbox_given_up"}},
		"kind":      {history.Filter{Kind: 2}, []string{"deliveries_made"}},
		"code":      {history.Filter{Codes: codes(t, "500")}, []string{"outbox_failing", "outbox_given_up"}},
		"good code": {history.Filter{Codes: codes(t, "204")}, []string{"deliveries_made"}},
		"event":     {history.Filter{EventID: 7}, nil},
		"license":   {history.Filter{LicenseID: 7}, []string{"deliveries_license"}},
	} {
		var statements []history.Statement
		err := o.DB.Read(t.Context(), func(tx *sqldb.Tx) (err error) {
			statements, err = history.Statements(t.Context(), tx, 1, c.filter)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		wantIndexes(t, o, name, statements, c.indexes)
	}
}

// many returns an outbox with enough rows for databases to use indexes.
func many(t *testing.T) *webhook.Outbox {
	t.Helper()
	o := &webhook.Outbox{DB: sqldbtest.Open(t), Now: func() time.Time { return webhooktest.Start }}
	webhooktest.Write(t, o, func(tx *sqldb.Tx) {
		for i := int64(1); i <= 30000; i++ { // with fewer, reading the failures of all partners is as quick
			n := notice(i, i%20+1, i, webhooktest.Start.Add(time.Duration(i)*time.Second))
			n.First = true
			o.Enqueue(tx, n)
			recordAnswer(tx, i, 200)
		}
		tx.Queue(`DELETE FROM outbox WHERE event_id % 3 = 0`)
		tx.Queue(`UPDATE outbox SET state = event_id % 4 + 1, attempts = event_id % 3`)
		if sqldbtest.Postgres() { // on SQLite the service runs without statistics
			tx.Queue(`ANALYZE`)
		}
	})
	return o
}

// wantIndexes checks that the indexes serve the first statement, and that no statement reads a
// whole table, except those in whole.
func wantIndexes(t *testing.T, o *webhook.Outbox, name string, statements []history.Statement, indexes []string, whole ...string) {
	t.Helper()
	plans := explain(t, o, statements)
	for _, index := range indexes {
		if !strings.Contains(plans[0], index) {
			t.Errorf("%s is not read by %s:\n%s", name, index, plans[0])
		}
	}
	for line := range strings.Lines(strings.Join(plans, "\n")) {
		if slices.ContainsFunc(whole, func(table string) bool { return strings.Contains(line, "Seq Scan on "+table+" ") }) {
			continue
		}
		if strings.Contains(line, "Seq Scan") || strings.Contains(line, "SCAN deliveries") || strings.Contains(line, "SCAN outbox") ||
			strings.Contains(line, "SCAN webhook_responses") {
			t.Errorf("%s: %s in\n%s", name, strings.TrimSpace(line), strings.Join(plans, "\n"))
		}
	}
}

// explain returns the query plans of statements.
func explain(t *testing.T, o *webhook.Outbox, statements []history.Statement) (plans []string) {
	t.Helper()
	err := o.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
		for _, s := range statements {
			scan, verb := sqldb.Value[string], `EXPLAIN `
			if !sqldbtest.Postgres() {
				verb = `EXPLAIN QUERY PLAN `
				scan = func(r *sqldb.Row, step *string) error {
					var id, parent, unused int64
					return r.Scan(&id, &parent, &unused, step)
				}
			}
			lines, err := sqldb.All(t.Context(), tx, scan, verb+s.SQL, s.Args...)
			if err != nil {
				return err
			}
			plans = append(plans, strings.Join(lines, "\n"))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return plans
}

// notice returns a purchase.
func notice(id, partnerID, license int64, at time.Time) webhook.Notice {
	return webhook.Notice{
		EventID: id, PartnerID: partnerID, LicenseID: license, LicenseKey: fmt.Sprintf("00000000-0000-4000-8000-%012d", license),
		Kind: 1, Event: "purchase", Status: "inactive", Tier: 1, Reason: "purchased", Sentence: "The license was purchased.", At: at, CreatedAt: at,
	}
}
