package history_test

import (
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
	"claviger/internal/webhook/webhooktest"
)

func idsOfAll(list history.AllList) []int64 {
	out := []int64{}
	for _, d := range list.Deliveries {
		out = append(out, d.EventID)
	}
	return out
}

// TestListAllFilters: each filter finds its deliveries among those of all partners, also in pages
// of one.
func TestListAllFilters(t *testing.T) {
	o := mixed(t)
	at := func(minutes int) time.Time { return webhooktest.Start.Add(time.Duration(minutes) * time.Minute) }
	for name, c := range map[string]struct {
		partner int64
		filter  history.Filter
		want    []int64
	}{
		"all":               {0, history.Filter{}, []int64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}},
		"of a partner":      {2, history.Filter{}, []int64{5}},
		"exhausted":         {0, history.Filter{State: history.Exhausted}, []int64{5, 3}},
		"failed":            {0, history.Filter{State: history.Failed}, []int64{7, 6, 5, 4, 3}},
		"waiting":           {0, history.Filter{State: history.Waiting}, []int64{10, 8}},
		"delivered":         {0, history.Filter{State: history.Delivered}, []int64{9, 2, 1}},
		"kind":              {0, history.Filter{Kind: 2}, []int64{9, 8, 6}},
		"code":              {0, history.Filter{Codes: codes(t, "500")}, []int64{5, 3}},
		"since":             {0, history.Filter{From: at(9)}, []int64{10, 9}},
		"before":            {0, history.Filter{To: at(4)}, []int64{3, 2, 1}},
		"range":             {0, history.Filter{From: at(3), To: at(6)}, []int64{5, 4, 3}},
		"range of failed":   {0, history.Filter{State: history.Failed, From: at(4), To: at(7)}, []int64{6, 5, 4}},
		"before everything": {0, history.Filter{To: at(0)}, []int64{}},
		"event":             {0, history.Filter{EventID: 5}, []int64{5}},
		"event and state":   {0, history.Filter{EventID: 5, State: history.Delivered}, []int64{}},
		"unknown event":     {0, history.Filter{EventID: 99}, []int64{}},
		"license":           {1, history.Filter{LicenseID: 2}, []int64{8, 7, 6, 2}},
		"unknown license":   {0, history.Filter{LicenseID: -1}, []int64{}},
	} {
		t.Run(name, func(t *testing.T) {
			list, err := read(o).ListAll(t.Context(), c.partner, c.filter, history.Key{}, 50)
			if err != nil || !list.Next.IsZero() || !list.SearchedTo.IsZero() {
				t.Fatal(list.Next, list.SearchedTo, err)
			}
			webhooktest.Same(t, "found", idsOfAll(list), c.want)
			for _, d := range list.Deliveries {
				if (d.PartnerID == 2) != (d.EventID == 5) {
					t.Errorf("event %d is of partner %d", d.EventID, d.PartnerID)
				}
			}
			paged := []int64{}
			for key := (history.Key{}); ; {
				page, err := read(o).ListAll(t.Context(), c.partner, c.filter, key, 1)
				if err != nil || len(page.Deliveries) > 1 {
					t.Fatal(page, err)
				}
				paged = append(paged, idsOfAll(page)...)
				if key = page.Next; key.IsZero() {
					break
				}
			}
			webhooktest.Same(t, "in pages", paged, c.want)
		})
	}
}

// TestListAllIsBounded: a page reads a bounded number of deliveries for any time. A time long ago
// is not searched for from the newest event.
func TestListAllIsBounded(t *testing.T) {
	const events = history.MaxLooked + 700
	at := func(event int) time.Time { return webhooktest.Start.Add(time.Duration(event) * time.Hour) }
	o := webhooktest.Box(t)
	webhooktest.Write(t, o, func(tx *sqldb.Tx) {
		for i := int64(1000); i < 1000+events; i++ {
			n := notice(i, i%3+1, i, at(int(i)))
			n.First = true
			o.Enqueue(tx, n)
		}
		tx.Queue(`DELETE FROM outbox`)
		tx.Queue(`DELETE FROM deliveries WHERE event_id > 1100 AND event_id < 1200`) // ids are not dense
	})
	list, err := read(o).ListAll(t.Context(), 0, history.Filter{Kind: 2}, history.Key{}, 50)
	if err != nil || len(list.Deliveries) != 0 || list.SearchedTo.IsZero() || list.Next.EventID != 1000+events-history.MaxLooked {
		t.Errorf("searched to %v, next %+v, %v", list.SearchedTo, list.Next, err)
	}
	list, err = read(o).ListAll(t.Context(), 0, history.Filter{EventID: 1000}, history.Key{}, 50)
	if err != nil || !list.SearchedTo.IsZero() {
		t.Fatalf("an old event was searched for to %v, %v", list.SearchedTo, err)
	}
	webhooktest.Same(t, "an old event", idsOfAll(list), []int64{1000})
	list, err = read(o).ListAll(t.Context(), 0, history.Filter{State: history.Delivered, To: at(1202)}, history.Key{}, 3)
	if err != nil {
		t.Fatal(err)
	}
	webhooktest.Same(t, "before a time long ago", idsOfAll(list), []int64{1201, 1200, 1100})
}

// listAllPlans: every statement of the list of all partners is served by an index.
func listAllPlans(t *testing.T, o *webhook.Outbox) {
	t.Helper()
	for name, c := range map[string]struct {
		filter  history.Filter
		indexes []string
	}{
		"all":       {history.Filter{}, nil},
		"failing":   {history.Filter{State: history.Failing}, []string{"outbox_all_failing"}},
		"exhausted": {history.Filter{State: history.Exhausted}, []string{"outbox_all_given_up"}},
		"failed":    {history.Filter{State: history.Failed}, []string{"outbox_all_failing", "outbox_all_given_up"}},
		"waiting":   {history.Filter{State: history.Waiting}, nil},
		"code":      {history.Filter{Codes: codes(t, "500")}, []string{"outbox_all_failing", "outbox_all_given_up"}},
	} {
		wantIndexes(t, o, name, history.StatementsOfAll(c.filter), c.indexes)
	}
}

// troublePlans: the statements of the Today page are served by indexes, too.
func troublePlans(t *testing.T, o *webhook.Outbox) {
	t.Helper()
	webhooktest.Write(t, o, func(tx *sqldb.Tx) {
		tx.Queue(`UPDATE outbox SET partner_id = event_id % 300 + 1`) // with few partners a full read is as quick
		if sqldbtest.Postgres() {
			tx.Queue(`ANALYZE`)
		}
	})
	for name, c := range history.TroubleStatements() {
		wantIndexes(t, o, name, []history.Statement{c.Statement}, c.Indexes, c.Whole...)
	}
}

// TestFailingEndpointsPlan: an index finds failing endpoints among many healthy ones.
func TestFailingEndpointsPlan(t *testing.T) {
	db := sqldbtest.Open(t)
	sqldbtest.Fill(t, db, 20_000,
		`INSERT INTO partners (id, name, brand, client_id, strict, single_key, created_at, updated_at) `+sqldbtest.Numbers+
			`SELECT n, '', '', CAST(n AS text), FALSE, FALSE, 0, 0 FROM numbers`,
		`INSERT INTO endpoints (partner_id, failing_since, failures, parked_at, probe_at, probed, updated_at) `+sqldbtest.Numbers+
			`SELECT n, CASE n % 500 WHEN 0 THEN n ELSE 0 END, 0, 0, 0, 0, 0 FROM numbers`)
	for _, which := range []history.Endpoints{history.AllFailing, history.OnlyParked, history.NotParked} {
		sqldbtest.WantIndex(t, db, "endpoints_failing", nil, which.Query(), int64(0), int64(0), 51)
	}
}

func TestPartnerOfAnEvent(t *testing.T) {
	o := mixed(t)
	if id, err := read(o).PartnerOf(t.Context(), 5); id != 2 || err != nil {
		t.Error(id, err)
	}
	if _, err := read(o).PartnerOf(t.Context(), 99); !fault.Is(err, webhook.CodeUnknownEvent) {
		t.Error(err)
	}
}
