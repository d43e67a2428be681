package console_test

import (
	"strconv"
	"time"
)

func init() {
	registry.Placeholders["dispute"] = func(h *harness, of known) string {
		if of == missing {
			return "dp_" + none
		}
		return h.openDispute("needs_response")
	}
	registry.Forms["/disputes/{dispute}/send"] = form()
	registry.Forms["/disputes/{dispute}/evidence"] = form("uncategorized_text", "They used it.")
}

// openDispute adds a dispute about a license of Tide, and returns its id. Its deadline is in an
// hour.
func (h *harness) openDispute(status string) string {
	h.Helper()
	sale := h.sold()
	now := h.Accounts.Now()
	id := "dp_" + strconv.FormatInt(sale.ID, 10)
	h.Exec(`INSERT INTO checkouts (ref, partner_id, tier, plan_name, item, amount, currency, paid, paid_currency, user_id, license_key, state, session_id,
			session_url, intent_id, purchase_id, refund_id, unsettled, tries, created_at, expires_at, paid_at, updated_at, next_at)
		VALUES ($1, $2, 1, 'One', 'Tide, One', 4900, 'USD', 4900, 'USD', $3, '', 3, $1, '', $1, $4, 0, $5, 0, $6, $6, $6, $6, 0)`,
		"co_"+id, h.tide.ID, sale.UserID, sale.ID, false, now)
	h.Exec(`INSERT INTO payment_disputes (provider_id, checkout_id, amount, currency, status, held, created_at, updated_at, next_at, due_by, reason)
		SELECT $1, id, 4900, 'USD', $2, $3, $4, $4, 1, $5, 'product_not_received' FROM checkouts WHERE ref = $6`,
		id, status, false, now, now.Add(time.Hour), "co_"+id)
	return id
}
