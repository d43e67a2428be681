package console_test

import (
	"strconv"

	"claviger/internal/account"
	"claviger/internal/apptest"
)

// Values of the isolation test for the team. A person and an invitation are created again if an act
// has removed them.
func init() {
	registry.Placeholders["operator"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		return strconv.FormatInt(h.operator("extra@market.example", account.RoleViewer).ID, 10)
	}
	registry.Placeholders["invitation"] = func(h *harness, of known) string {
		h.Helper()
		if of == missing {
			return none
		}
		inviter := account.Inviter{Accounts: h.Accounts}
		list, err := inviter.List(h.Context())
		h.Must(err)
		if len(list) > 0 {
			return strconv.FormatInt(list[0].ID, 10)
		}
		n, err := inviter.Invite(h.Context(), apptest.Tester, "new@market.example", account.RoleViewer)
		h.Must(err)
		return strconv.FormatInt(n.ID, 10)
	}
	registry.Forms["/team/invite"] = form("email", "", "role", "viewer")
	registry.Forms["/team/invitations/{invitation}/withdraw"] = form()
	registry.Forms["/team/members/{operator}/role"] = form("role", "viewer")
	registry.Forms["/team/members/{operator}/remove"] = form()
	registry.Forms["/team/leave"] = form() // the box is not ticked
}
