package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// record is an attempt as the partner API shows it.
type record struct {
	Event   string `json:"event"`
	Key     string `json:"license_key"`
	Header  string `json:"request_header"`
	Body    string `json:"request_body"`
	Status  int    `json:"response_status"`
	Answer  string `json:"response_body"`
	Took    int64  `json:"response_time"` // in milliseconds
	URL     string `json:"url"`
	Success bool   `json:"success"`
}

// header returns one of the recorded headers.
func (r record) header(name string) string {
	for line := range strings.Lines(r.Header) {
		if n, value, _ := strings.Cut(strings.TrimSpace(line), ": "); strings.EqualFold(n, name) {
			return value
		}
	}
	return ""
}

// books has the final state: the events, the partner's requests, and the service's records.
type books struct {
	t        *testing.T
	feed     []eventLine
	licenses map[string][]eventLine // in the feed's order
	arrivals map[int64][]*arrival   // by event, in order of arrival
	endpoint *endpoint
	records  map[string][]record // by license, oldest first
}

// feedOf reads the operator's whole feed.
func feedOf(t *testing.T, c *child) []eventLine {
	t.Helper()
	var all []eventLine
	for after := int64(0); ; after = all[len(all)-1].ID {
		part := read[list[eventLine]](t, c.operator().must(t, 200, "GET", fmt.Sprintf("/operator/v1/events?after=%d", after), nil))
		if part.Size == 0 {
			return all
		}
		all = append(all, part.Items...)
	}
}

// openBooks reads everything when no delivery is running.
func openBooks(t *testing.T, c *child, e *endpoint) *books {
	t.Helper()
	b := &books{
		t: t, feed: feedOf(t, c), endpoint: e,
		licenses: map[string][]eventLine{}, arrivals: map[int64][]*arrival{}, records: map[string][]record{},
	}
	for _, v := range b.feed {
		b.licenses[v.Key] = append(b.licenses[v.Key], v)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, a := range e.arrivals {
		b.arrivals[a.event] = append(b.arrivals[a.event], a)
	}
	for key := range b.licenses {
		for page, size := 1, 100; size == 100; page++ {
			part := read[list[record]](t, c.partner().must(t, 200, "GET",
				fmt.Sprintf("/v2/licenses/%s/webhook-responses?order=asc&limit=100&page=%d", key, page), nil))
			b.records[key] = append(b.records[key], part.Items...)
			size = part.Size
		}
	}
	return b
}

// checkTold: every event was delivered, nothing else was sent, every signature was valid, and all
// requests of an event had the same id and bytes.
func (b *books) checkTold() {
	b.t.Helper()
	b.endpoint.check(b.t)
	ids := map[string]int64{}
	for _, v := range b.feed {
		if b.endpoint.delivered[v.ID] == 0 {
			b.t.Errorf("event %d (%s of %s) was lost", v.ID, v.Kind, v.Key)
			continue
		}
		first := b.arrivals[v.ID][0]
		if other, taken := ids[first.id]; taken || first.id == "" {
			b.t.Errorf("events %d and %d both have webhook-id %q", v.ID, other, first.id)
		}
		ids[first.id] = v.ID
		said := fmt.Sprintf(`{"license_key":%q,"event":%q,`, v.Key, v.Kind)
		if tier := fmt.Sprintf(`"tier":%d,`, v.Tier); !strings.HasPrefix(first.body, said) || !strings.Contains(first.body, tier) {
			b.t.Errorf("event %d is %+v and was told as %s", v.ID, v, first.body)
		}
		for _, a := range b.arrivals[v.ID][1:] {
			if a.body != first.body || a.id != first.id {
				b.t.Errorf("event %d came as %s %s and as %s %s", v.ID, first.id, first.body, a.id, a.body)
			}
		}
	}
	for id, came := range b.arrivals {
		if _, known := slices.BinarySearchFunc(b.feed, id, func(v eventLine, id int64) int { return int(v.ID - id) }); !known {
			b.t.Errorf("event %d is not in the feed and came: %s", id, came[0].body)
		}
	}
}

// checkOrder: an event of a license is first sent after the one before it was delivered, and never
// after a later one.
func (b *books) checkOrder() {
	b.t.Helper()
	for key, events := range b.licenses {
		for i := 1; i < len(events); i++ {
			before, this := b.arrivals[events[i-1].ID], b.arrivals[events[i].ID]
			if len(before) == 0 || len(this) == 0 {
				continue // lost, which another check reports
			}
			from := this[0].came
			if told := b.endpoint.delivered[events[i-1].ID]; told == 0 || told > from {
				b.t.Errorf("license %s: event %d was sent (at %d) before %d was delivered (at %d)", key, events[i].ID, from, events[i-1].ID, told)
			}
			if last := before[len(before)-1].came; last > from {
				b.t.Errorf("license %s: event %d came again (at %d) after %d (at %d)", key, events[i-1].ID, last, events[i].ID, from)
			}
		}
	}
}

// checkRecords: every recorded attempt was seen by the partner, with the same bytes and answer, and
// each event has a recorded success. It returns the number of unrecorded requests, which were cut
// off. With one node at a time an event is repeated after its success only if that was cut off, its
// success is recorded once, and its attempts are numbered without gaps.
func (b *books) checkRecords(oneNode bool) (unrecorded int) {
	b.t.Helper()
	recorded := map[int64]map[string]bool{} // signatures by event
	for key, list := range b.records {
		next := map[string]int{} // attempts by webhook-id
		for _, r := range list {
			a := b.seen(key, r)
			if a == nil {
				continue
			}
			if recorded[a.event] == nil {
				recorded[a.event] = map[string]bool{}
			}
			recorded[a.event][a.signature] = true
			next[a.id]++
			if n := r.header("X-Licensing-Attempt"); oneNode && n != fmt.Sprint(next[a.id]) {
				b.t.Errorf("event %d has attempt %s on record as number %d", a.event, n, next[a.id])
			}
		}
		for _, v := range b.licenses[key] {
			b.checkSuccess(v, list, oneNode)
		}
	}
	for id, came := range b.arrivals {
		attempts, successes := map[string]bool{}, 0
		for _, a := range came {
			attempts[a.signature] = true
			if a.answered != 0 && a.reply.delivered() {
				successes++
			}
		}
		lost := len(attempts) - len(recorded[id])
		unrecorded += lost
		if oneNode && successes-1 > lost {
			b.t.Errorf("event %d was delivered %d times although only %d attempts were cut off", id, successes, lost)
		}
	}
	return unrecorded
}

// seen finds the request of a record.
func (b *books) seen(key string, r record) *arrival {
	b.t.Helper()
	for _, v := range b.licenses[key] {
		for _, a := range b.arrivals[v.ID] {
			if a.signature != r.header("X-Licensing-Signature") || a.id != r.header("webhook-id") {
				continue
			}
			same := a.body == r.Body && r.Key == key && r.Event == v.Kind && r.URL == b.endpoint.URL
			switch answered := r.Status == a.reply.status && r.Answer == a.reply.body && r.Success == a.reply.delivered(); {
			case r.Status == 0 && same && !r.Success && r.Answer != "":
				return a // the connection broke before the answer
			case same && answered && a.answered != 0:
				return a
			}
		}
	}
	b.t.Errorf("on record, and not seen by the partner: %+v", r)
	return nil
}

func (b *books) checkSuccess(v eventLine, list []record, once bool) {
	b.t.Helper()
	if len(b.arrivals[v.ID]) == 0 {
		return // lost, which another check reports
	}
	successes := 0
	for _, r := range list {
		if r.Success && r.header("webhook-id") == b.arrivals[v.ID][0].id {
			successes++
		}
	}
	if successes == 0 || once && successes != 1 {
		b.t.Errorf("event %d has %d successes on record", v.ID, successes)
	}
}

// checkPicture: a partner that applies each event in order of arrival ends with the actual
// licenses.
func (b *books) checkPicture(c *child) {
	b.t.Helper()
	picture := map[string]string{}
	for _, a := range b.endpoint.arrivals {
		if a.answered != 0 && a.reply.delivered() {
			picture[a.license] = a.body
		}
	}
	for _, key := range slices.Sorted(maps.Keys(b.licenses)) {
		l := read[licenseLine](b.t, c.partner().must(b.t, 200, "GET", "/v2/licenses/"+key, nil))
		if body := picture[key]; !strings.Contains(body, fmt.Sprintf(`"license_status":%q,`, l.Status)) || !strings.Contains(body, fmt.Sprintf(`"tier":%d,`, l.Tier)) {
			b.t.Errorf("license %s is %s at tier %d, and the partner was left with %s", key, l.Status, l.Tier, body)
		}
	}
}
