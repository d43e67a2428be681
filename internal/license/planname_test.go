package license_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// named returns the plan's names in the bodies of a license's webhooks, oldest first.
func (h *harness) named(l license.License) []string {
	h.Helper()
	bodies, err := sqldb.All(h.Context(), h.db, sqldb.Value[string], `SELECT body FROM deliveries WHERE license_id = $1 ORDER BY event_id`, l.ID)
	if err != nil {
		h.Fatal(err)
	}
	var all []string
	for _, body := range bodies {
		var b struct {
			Event string
			Name  *string `json:"partner_plan_name"`
		}
		if err := json.Unmarshal([]byte(body), &b); err != nil {
			h.Fatal(err)
		}
		if b.Name == nil {
			h.Fatalf("a body without partner_plan_name: %s", body)
		}
		all = append(all, b.Event+" "+*b.Name)
	}
	return all
}

// TestWebhooksNameThePlan checks that a webhook has the current name of the plan of its tier, for
// every cause of the event.
func TestWebhooksNameThePlan(t *testing.T) {
	for name, c := range map[string]struct {
		commands string
		want     []string
	}{
		"commands that keep the tier": {
			"redeem ann, hold, reinstate, release, redeem ann, refund, reverse, transfer bob, redeem bob, erase bob",
			[]string{
				"activate Tier 1", "deactivate Tier 1", "activate Tier 1", "deactivate Tier 1", "activate Tier 1", "deactivate Tier 1",
				"activate Tier 1", "deactivate Tier 1", "activate Tier 1", "deactivate Tier 1",
			},
		},
		"a plan change and its refund": {
			"plan 3 up, refund-link up", []string{"purchase Tier 3", "purchase Tier 1"},
		},
		"a plan that got another name": {
			"name 1 Solo, redeem ann, plan 3 up, name 1 Single, refund-link up", []string{"activate Solo", "activate Tier 3", "activate Single"},
		},
		"a tier that is sold no more": {
			"remove 1, redeem ann", []string{"activate "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			ann := person("ann")
			p := h.partner()
			s := &script{harness: h, l: h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: &ann})[0]}
			for command := range strings.SplitSeq(c.commands, ", ") {
				if got := s.runPlan(p, command); got != "" {
					t.Fatal(command, got)
				}
			}
			if diff := cmp.Diff(append([]string{"purchase Tier 1"}, c.want...), h.named(s.l)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// runPlan also runs commands on plans.
func (s *script) runPlan(partnerID int64, command string) string {
	s.Helper()
	var tier int
	var name string
	if n, _ := fmt.Sscanf(command, "name %d %s", &tier, &name); n == 2 {
		_, _, err := s.partners.PutPlan(s.Context(), tester, partnerID, partner.Plan{Tier: tier, Name: name, Currency: "USD"})
		return code(err)
	}
	if n, _ := fmt.Sscanf(command, "remove %d", &tier); n == 1 {
		return code(s.partners.DeletePlan(s.Context(), tester, partnerID, tier))
	}
	return s.run(command)
}
