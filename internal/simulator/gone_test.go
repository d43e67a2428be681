package simulator_test

import (
	"testing"

	"claviger/internal/apptest"
	"claviger/internal/fault"
	"claviger/internal/scenario"
	"claviger/internal/simulator"
)

// TestUnreadable: nothing is sent without the partner's secrets, and a failed read is never
// an answer. A run that could not begin keeps no other from starting.
func TestUnreadable(t *testing.T) {
	h := start(t)
	ctx := t.Context()
	begin := func() error {
		_, err := h.node.Start(ctx, apptest.Tester, h.partner.ID, scenario.Journey)
		h.node.Wait()
		return err
	}
	license := func() error {
		l, err := h.node.License(ctx, h.partner.ID, "0")
		if l.Key != "" {
			t.Errorf("a license: %+v", l)
		}
		return err
	}
	verify := func() error {
		_, err := h.node.Verify(ctx, h.partner.ID, simulator.Pasted{Headers: "a: b"})
		return err
	}
	for table, answers := range map[string]map[string]func() error{
		"partner_secrets": {"start": begin, "verify": verify},
		"scenario_runs":   {"start": begin},
		"plans":           {"start": begin},
		"test_licenses":   {"license": license},
	} {
		h.Exec(`ALTER TABLE ` + table + ` RENAME TO kept`)
		for name, answer := range answers {
			if err := answer(); err == nil || fault.Of(err) != nil {
				t.Errorf("without %s, %s: %v", table, name, err)
			}
		}
		h.Exec(`ALTER TABLE kept RENAME TO ` + table)
	}
	if n := h.endpoint.count(); n != 0 {
		t.Errorf("%d posts", n)
	}
	if r := h.run(scenario.Journey); r.State != simulator.Ended {
		t.Errorf("afterwards: %+v", r)
	}
}
