package dispatch_test

import (
	"strconv"
	"strings"
	"testing"

	"claviger/internal/sqldb"
)

// Deliveries that a node writes for a partner it does not own become hints to the owner, which name
// the license. A change of the endpoint, and very many licenses, name only the partner.
func TestHintsAreGathered(t *testing.T) {
	hints := func(out *outbox, partnerID int64, licenses ...int64) {
		for _, id := range licenses {
			out.Dispatcher.Hint(partnerID, id)
		}
	}
	many := func(n int64) (ids []int64, message string) {
		var list []string
		for id := int64(1); id <= n; id++ {
			ids = append(ids, id+40_000) // three digits
			list = append(list, "1:"+base36(id+40_000))
		}
		return ids, strings.Join(list, ",")
	}
	most, all := many(500)
	tooMany, _ := many(501)
	for name, c := range map[string]struct {
		act  func(r *harness, out *outbox)
		want string
	}{
		"nothing":              {func(*harness, *outbox) {}, ""},
		"a sale":               {func(r *harness, out *outbox) { r.event(out, 1) }, "1:1"},
		"two of one license":   {func(r *harness, out *outbox) { r.event(out, 1); r.event(out, 1) }, "1:1"},
		"licenses of partners": {func(_ *harness, out *outbox) { hints(out, 40, 3, 36); hints(out, 2, 1) }, "2:1,14:3,14:10"},
		"a redelivery": {func(r *harness, out *outbox) {
			r.event(r.out, 1)
			r.redeliver(out, 1)
		}, "1:0"},
		"an act after a sale":     {func(r *harness, out *outbox) { r.event(out, 1); r.write(func(tx *sqldb.Tx) { out.Touch(tx, 1) }) }, "1:0"},
		"a sale after an act":     {func(r *harness, out *outbox) { r.write(func(tx *sqldb.Tx) { out.Touch(tx, 1) }); r.event(out, 1) }, "1:0"},
		"as many as are named":    {func(_ *harness, out *outbox) { hints(out, 1, most...) }, all},
		"more than are named":     {func(_ *harness, out *outbox) { hints(out, 1, tooMany...) }, "1:0"},
		"and one more after that": {func(_ *harness, out *outbox) { hints(out, 1, append(tooMany, 7)...) }, "1:0"},
	} {
		t.Run(name, func(t *testing.T) {
			r := steppedHarness(t)
			r.partner(1, nil)
			r.license(1, 1)
			out := r.stepped(settings{}) // does not run and owns nothing
			c.act(r, out)
			same(t, "hints", strings.Join(out.Dispatcher.Hints(), " then "), c.want)
		})
	}
}

// Hints that do not fit into one message are split, and none is lost.
func TestHintsFitIntoMessages(t *testing.T) {
	r := steppedHarness(t)
	out := r.stepped(settings{})
	want := map[string]bool{}
	for p := int64(1); p <= 10; p++ {
		for id := int64(1); id <= 400; id++ {
			out.Dispatcher.Hint(p, id*1_000_000_007)
			want[base36(p)+":"+base36(id*1_000_000_007)] = true
		}
	}
	messages := out.Dispatcher.Hints()
	for i, m := range messages {
		if len(m) > 7900 || i < len(messages)-1 && len(m) < 7800 {
			t.Errorf("message %d has %d bytes", i, len(m))
		}
		for hint := range strings.SplitSeq(m, ",") {
			if !want[hint] {
				t.Errorf("%q is hinted at", hint)
			}
			delete(want, hint)
		}
	}
	same(t, "lost", len(want), 0)
}

// A hint from another node makes the lane search; a malformed hint is left to the poll.
func TestHintsAreHeard(t *testing.T) {
	r, g := steppedHarness(t), newGate(t)
	r.partner(1, g.ServeHTTP)
	r.license(1, 1, 2, 3, 36)
	out := r.manual(settings{})
	r.event(r.out, 1)
	out.Dispatcher.Hear("1:1")
	same(t, "the license that is named", g.next().id, 1)
	r.event(r.out, 2)
	out.Dispatcher.Hear("new,1:,:1,1:2,x:y:z")
	same(t, "one between what is not understood", g.next().id, 2)
	r.event(r.out, 36)
	out.Dispatcher.Hear("1:10")
	same(t, "a license of two digits", g.next().id, 3)
	r.event(r.out, 3)
	out.Dispatcher.Hear("2:3") // a partner without this license
	r.heard(out, 1)
	g.nobody("of which nothing was heard")
	out.Dispatcher.Hear("1:0")
	same(t, "what is due of the partner", g.next().id, 4)
}

func base36(id int64) string { return strconv.FormatInt(id, 36) }
