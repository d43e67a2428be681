package console_test

import (
	"net/url"
	"strconv"

	"claviger/internal/apptest"
	"claviger/internal/refundrequest"
	"claviger/internal/sqldb"
)

func init() {
	registry.Placeholders["request"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		return strconv.FormatInt(h.refundRequest().ID, 10)
	}
	registry.Forms["/refund-requests/{request}/refund"] = func(*harness, known) url.Values { return url.Values{} }
	registry.Forms["/refund-requests/{request}/decline"] = form("reason", "It was used.")
}

// refundRequest stores a request for a refund of a new license, without a payment.
func (h *harness) refundRequest() refundrequest.Request {
	h.Helper()
	l := h.sold().Licenses[0]
	owner := h.User(buyer).ID
	var r refundrequest.Request
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) (err error) {
		r, err = h.Payments.Requests.Add(h.Context(), tx, apptest.Tester, refundrequest.Request{
			LicenseID: l.ID, LicenseKey: l.Key, RedemptionID: l.RedemptionID, PartnerID: l.PartnerID, UserID: owner,
			Reason: "Too slow.",
		}, h.Accounts.Now())
		return err
	}))
	return r
}
