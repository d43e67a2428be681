package dispatch_test

import (
	"testing"
	"time"

	"claviger/internal/dispatch"
	"claviger/internal/webhook"
)

// The lane takes the result of a search as far as there is space, and the next search starts after
// it.
func TestWhatASearchFound(t *testing.T) {
	at := func(id int64) time.Time { return start.Add(time.Duration(id) * time.Second) }
	item := func(id int64) *webhook.Item { return &webhook.Item{EventID: id, LicenseID: id, DueAt: at(id)} }
	behind := func(id int64) webhook.Cursor { return webhook.Cursor{DueAt: at(id), EventID: id} }
	found := webhook.Found{Items: []*webhook.Item{item(1), item(2), item(3)}, Due: 2, Searched: true, More: true}
	probe := func() webhook.Found {
		it := item(1)
		it.Probe = true
		return webhook.Found{Items: []*webhook.Item{it}}
	}()
	reopened := item(2)
	reopened.Generation = 1
	for name, c := range map[string]struct {
		taking dispatch.Taking
		found  webhook.Found
		want   dispatch.Taken
	}{
		"there is space": {dispatch.Taking{Space: 3}, found, dispatch.Taken{Queue: []int64{1, 2, 3}, More: true, After: behind(2), InMemory: 3}},
		"more than is needed": {
			dispatch.Taking{Space: 9, More: true, After: behind(1)},
			webhook.Found{Items: found.Items, Due: 3, Searched: true},
			dispatch.Taken{Queue: []int64{1, 2, 3}, InMemory: 3},
		},
		"there is too little":         {dispatch.Taking{Space: 1}, found, dispatch.Taken{Queue: []int64{1}, More: true, After: behind(1), InMemory: 1}},
		"just what is due has space":  {dispatch.Taking{Space: 2}, webhook.Found{Items: found.Items, Due: 2, Searched: true}, dispatch.Taken{Queue: []int64{1, 2}, More: true, After: behind(2), InMemory: 2}},
		"something is due before":     {dispatch.Taking{Space: 3, Due: true}, found, dispatch.Taken{Queue: []int64{1, 2, 3}, More: true, InMemory: 3}},
		"only hints were looked at":   {dispatch.Taking{Space: 1, More: true, After: behind(7)}, webhook.Found{Items: found.Items[:1]}, dispatch.Taken{Queue: []int64{1}, More: true, After: behind(7), InMemory: 1}},
		"the endpoint takes nothing":  {dispatch.Taking{Space: 3, Closed: true}, webhook.Found{Items: found.Items}, dispatch.Taken{}},
		"but a probe":                 {dispatch.Taking{Space: 3, Closed: true}, probe, dispatch.Taken{Queue: []int64{1}, InMemory: 1}},
		"the endpoint was changed":    {dispatch.Taking{Space: 3, Reload: true}, webhook.Found{Items: found.Items}, dispatch.Taken{}},
		"and then no probe either":    {dispatch.Taking{Space: 3, Closed: true, Reload: true}, probe, dispatch.Taken{}},
		"the lane ends":               {dispatch.Taking{Space: 3, Stop: true}, webhook.Found{Items: found.Items}, dispatch.Taken{}},
		"it is in memory":             {dispatch.Taking{Space: 1, Held: map[int64]*webhook.Item{2: item(2)}}, webhook.Found{Items: []*webhook.Item{item(2)}}, dispatch.Taken{InMemory: 1}},
		"it was recorded meanwhile":   {dispatch.Taking{Space: 1, Held: map[int64]*webhook.Item{2: nil}}, webhook.Found{Items: []*webhook.Item{item(2)}}, dispatch.Taken{Again: []int64{2}, InMemory: 1}},
		"it was redelivered":          {dispatch.Taking{Space: 1, Held: map[int64]*webhook.Item{2: item(2)}}, webhook.Found{Items: []*webhook.Item{reopened}}, dispatch.Taken{Again: []int64{2}, InMemory: 1}},
		"an earlier one is open":      {dispatch.Taking{Space: 1, Held: map[int64]*webhook.Item{2: {EventID: 5, LicenseID: 2}}}, webhook.Found{Items: []*webhook.Item{item(2)}}, dispatch.Taken{Again: []int64{2}, InMemory: 1}},
		"what is held takes no space": {dispatch.Taking{Space: 1, Held: map[int64]*webhook.Item{1: item(1)}}, webhook.Found{Items: found.Items[:2], Due: 2, Searched: true, More: true}, dispatch.Taken{Queue: []int64{2}, More: true, After: behind(2), InMemory: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, "taken", c.taking.Take(c.found), c.want)
		})
	}
}
