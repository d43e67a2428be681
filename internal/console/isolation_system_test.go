package console_test

import (
	"net/url"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/apptest"
)

func init() {
	registry.Placeholders["token"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		token, _, err := h.Accounts.AddToken(h.Context(), apptest.Tester, "isolation", []account.Scope{account.Read}, time.Time{}, "")
		h.Must(err)
		return strconv.FormatInt(token.ID, 10)
	}
	registry.Placeholders["kid"] = func(h *harness, of known) string {
		if of == missing {
			return "none"
		}
		return h.signingKeys()[0].ID
	}
	empty := func(*harness, known) url.Values { return url.Values{} }
	registry.Forms["/tokens/new"] = empty
	registry.Forms["/tokens/{token}/revoke"] = empty
	registry.Forms["/keys/{kid}/revoke"] = empty
	registry.Forms["/keys/rotate"] = form("alg", "ES256")
	registry.Queries["/keys/rotate"] = form("alg", "ES256")
}
