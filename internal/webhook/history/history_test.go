package history_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
	"claviger/internal/webhook/webhooktest"
)

// read returns a Reader for the deliveries of an outbox.
func read(o *webhook.Outbox) history.Reader { return history.Reader{DB: o.DB} }

func statuses(list []history.Response) []int {
	out := []int{}
	for _, r := range list {
		out = append(out, r.ResponseStatus)
	}
	return out
}

func TestResponsesOfEvents(t *testing.T) {
	o := webhooktest.Box(t)
	webhooktest.Respond(t, o, 1, 12)
	webhooktest.Respond(t, o, 3, 2)
	err := o.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
		got, err := history.OfEvents(t.Context(), tx, []int64{1, 2, 3})
		if diff := cmp.Diff([]int{11, 10, 9, 8, 7, 6, 5, 4, 3, 2}, statuses(got[1])); diff != "" {
			t.Errorf("the newest ten (-want +got)\n%s", diff)
		}
		if len(got[2]) != 0 || len(got[3]) != 2 {
			t.Errorf("got %d of event 2 and %d of event 3", len(got[2]), len(got[3]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestResponsesOfALicense(t *testing.T) {
	o := webhooktest.Box(t)
	webhooktest.Respond(t, o, 1, 7)
	webhooktest.Respond(t, o, 4, 3)
	yes, no := true, false
	for name, c := range map[string]struct {
		success *bool
		page    paging.Page
		want    []int
		total   int64
		more    bool
	}{
		"newest first": {nil, paging.Page{Number: 1, Limit: 3}, []int{6, 5, 4}, 7, true},
		"oldest first": {nil, paging.Page{Number: 3, Limit: 3, Order: paging.OldestFirst}, []int{6}, 7, false},
		"past the end": {nil, paging.Page{Number: 9, Limit: 3}, []int{}, 7, false},
		"successes":    {&yes, paging.Page{Number: 1, Limit: 3}, []int{6, 3, 0}, -1, false},
		"failures":     {&no, paging.Page{Number: 1, Limit: 3}, []int{5, 4, 2}, -1, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(o).Responses(t.Context(), 1, c.success, c.page)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, statuses(got.Responses)); diff != "" || got.Total != c.total || got.More != c.more {
				t.Errorf("total %d, more %v (-want +got)\n%s", got.Total, got.More, diff)
			}
		})
	}
}
