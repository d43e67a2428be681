package portal_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/idempotency"
	"claviger/internal/ledger"
	"claviger/internal/partner"
)

// Values of the isolation test for credentials, contacts, the team and the settings. A thing is
// created again if an act has removed it.
func init() {
	placeholders["credential"] = credentialOf
	placeholders["contact"] = contactOf
	placeholders["member"] = memberOf
	placeholders["invitation"] = invitationOf
	placeholders["tier"] = tierOf
	placeholders["statement"] = statementOf

	for path, pairs := range map[string][]string{
		"/credentials/keys":                       {"name", "CI", "form", ""},
		"/credentials/renew":                      {"what", "client_secret", "form", "isolation"},
		"/credentials/{credential}/rotate":        {"what", "api_key", "name", "isolation", "overlap_s", "-1", "form", "isolation"},
		"/credentials/{credential}/revoke":        nil,
		"/contacts":                               {"name", "", "email", "eve@example.com"},
		"/contacts/{contact}/test":                nil,
		"/contacts/{contact}/remove":              nil,
		"/team/invite":                            {"email", "", "role", "viewer"},
		"/team/invitations/{invitation}/withdraw": nil,
		"/team/members/{member}/role":             {"was", "viewer", "role", "viewer"},
		"/team/members/{member}/remove":           nil,
		"/team/leave":                             nil, // the box is not ticked
		"/settings":                               {"was", "", "brand", "Tide"},
		"/product":                                {"tagline", "Isolation"}, // refused: no seen field
		"/product/icon":                           nil,                      // without a file
		"/product/plans/{tier}":                   {"sort", "none"},
		"/settings/single-key":                    {"was", "", "overlap_s", "0"},
		"/statements/{statement}":                 nil,
	} {
		forms[path] = func(*harness, partner.Partner) url.Values {
			values := url.Values{}
			for pair := range slices.Chunk(pairs, 2) {
				values.Set(pair[0], pair[1])
			}
			return values
		}
	}
}

// statementOf returns a statement of a partner. Numbers are per partner, so that of Reef is one that Tide
// does not have.
func statementOf(h *harness, p partner.Partner) string {
	h.Helper()
	if p == nobody {
		return none
	}
	list, _, err := h.Statements.List(h.Context(), p.ID, 0, 1)
	h.Must(err)
	if len(list) == 0 {
		h.Post(p.ID, time.Now(), func(_ context.Context, j *ledger.Journal) error {
			if p.ID == h.reef.ID {
				h.Must(j.Adjust("isolation of reef", 100, "GBP", "A prize"))
			}
			return j.Adjust(fmt.Sprintf("isolation %d", p.ID), 100, "EUR", "A prize")
		})
		list = h.Statement(p.ID)
		slices.Reverse(list)
	}
	return strconv.FormatInt(list[0].Number, 10)
}

// none is the id of things that do not exist.
const none = "987654321"

func credentialOf(h *harness, p partner.Partner) string {
	h.Helper()
	if p == nobody {
		return none
	}
	for {
		list, err := h.Partners.ListCredentials(h.Context(), p.ID)
		h.Must(err)
		for _, c := range list {
			if c.Name == "isolation" && !c.Replaced() {
				return strconv.FormatInt(c.ID, 10)
			}
		}
		_, err = h.Partners.AddKey(h.Context(), apptest.Tester, p.ID, "isolation", idempotency.Request{})
		h.Must(err)
	}
}

func contactOf(h *harness, p partner.Partner) string {
	h.Helper()
	if p == nobody {
		return none
	}
	_, list, err := h.Profiles.Get(h.Context(), p.ID)
	h.Must(err)
	if len(list) > 0 {
		return strconv.FormatInt(list[0].ID, 10)
	}
	c, err := h.Profiles.AddContact(h.Context(), apptest.Tester, p.ID, "Ops", fmt.Sprintf("ops@%d.example", p.ID))
	h.Must(err)
	return strconv.FormatInt(c.ID, 10)
}

func memberOf(h *harness, p partner.Partner) string {
	h.Helper()
	if p == nobody {
		return none
	}
	u := h.User(fmt.Sprintf("extra@%d.example", p.ID))
	_, err := h.Partners.AddMember(h.Context(), apptest.Tester, p.ID, u.ID, partner.Viewer)
	h.Must(err)
	return strconv.FormatInt(u.ID, 10)
}

func invitationOf(h *harness, p partner.Partner) string {
	h.Helper()
	if p == nobody {
		return none
	}
	list, err := h.Inviter.List(h.Context(), p.ID)
	h.Must(err)
	if len(list) > 0 {
		return strconv.FormatInt(list[0].ID, 10)
	}
	n, err := h.Inviter.Invite(h.Context(), apptest.Tester, p.ID, fmt.Sprintf("new@%d.example", p.ID), partner.Viewer)
	h.Must(err)
	return strconv.FormatInt(n.ID, 10)
}

// tierOf returns the tier of a plan that only this partner sells.
func tierOf(h *harness, p partner.Partner) string {
	h.Helper()
	if p == nobody {
		return "999"
	}
	tier := 700 + int(p.ID)
	_, _, err := h.Partners.PutPlan(h.Context(), apptest.Tester, p.ID, partner.Plan{Tier: tier, Name: "Isolation"})
	h.Must(err)
	return strconv.Itoa(tier)
}
