package webhook_test

import (
	"testing"

	"claviger/internal/fault"
	"claviger/internal/webhook/webhooktest"
)

func TestRedeliver(t *testing.T) {
	for name, c := range map[string]struct {
		states []int
		event  int64
		want   []string
	}{
		"the newest of its license":      {[]int{2, 2, 2, 2}, 3, []string{"3 after 0"}},
		"an older one brings the newest": {[]int{2, 2, 2, 2}, 1, []string{"1 after 0", "3 after 0"}},
		"an exhausted one":               {[]int{2, 3, 3, 2}, 2, []string{"2 after 0", "3 after 0"}},
		"one that waits keeps its count": {[]int{2, 2, 2, 1}, 4, []string{"4 after 5"}},
		"so does the newest":             {[]int{2, 2, 1, 2}, 1, []string{"1 after 0", "3 after 5"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := box(t)
			settle(t, o, c.states...)
			if err := o.Redeliver(t.Context(), tester, 1, c.event); err != nil {
				t.Fatal(err)
			}
			webhooktest.Same(t, "due", due(t, o), c.want)
		})
	}
}

func TestRedeliverKnowsItsPartner(t *testing.T) {
	o := box(t)
	settle(t, o, 2, 2, 2, 2)
	for _, c := range []struct {
		partner, event int64
		known          bool
	}{{2, 1, false}, {1, 9, false}, {0, 9, false}, {0, 3, true}} {
		err := o.Redeliver(t.Context(), tester, c.partner, c.event)
		if fault.Is(err, "unknown_event") == c.known || err != nil && c.known {
			t.Errorf("%+v: %v", c, err)
		}
	}
	webhooktest.Same(t, "due", due(t, o), []string{"3 after 0"})
}
