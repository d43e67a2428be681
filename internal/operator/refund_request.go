package operator

import (
	"net/http"
	"strconv"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/refundrequest"
	"claviger/internal/wire"
)

// refundRequestRoutes returns the routes of the refund requests of buyers.
func (o *Operator) refundRequestRoutes(
	on func(account.Scope, string, string, wire.Handler[account.Token]) wire.Route,
	list func(string, wire.Handler[account.Token]) wire.Route,
) []wire.Route {
	return []wire.Route{
		list("/refund-requests", o.listRefundRequests),
		on(account.Read, "GET", "/refund-requests/{id}", o.getRefundRequest),
		on(account.Sell, "POST", "/refund-requests/{id}/refund", o.grantRefundRequest),
		on(account.Sell, "POST", "/refund-requests/{id}/decline", o.declineRefundRequest),
	}
}

// requestJSON is a refund request on the wire.
type requestJSON struct {
	ID         int64         `json:"id"`
	State      string        `json:"state"`
	UnderWay   bool          `json:"under_way"` // the refund was asked for and has not ended
	PartnerID  int64         `json:"partner_id"`
	LicenseKey string        `json:"license_key"`
	UserID     int64         `json:"user_id"`
	Reason     string        `json:"reason"`
	Answer     string        `json:"answer"`
	Failure    string        `json:"failure"`
	Payments   []coveredJSON `json:"payments"`
	CreatedAt  wire.Time     `json:"created_at"`
	DecidedAt  mayTime       `json:"decided_at"`
	UpdatedAt  wire.Time     `json:"updated_at"`
}

// coveredJSON is a payment that a refund request covers, on the wire.
type coveredJSON struct {
	PurchaseID int64  `json:"purchase_id"`
	Item       string `json:"item"`
	Amount     int64  `json:"amount_cents"`
	Currency   string `json:"currency"`
}

func requestOf(r refundrequest.Request) requestJSON {
	out := requestJSON{
		ID: r.ID, State: r.State.String(), UnderWay: r.UnderWay(), PartnerID: r.PartnerID, LicenseKey: r.LicenseKey,
		UserID: r.UserID, Reason: r.Reason, Answer: r.Answer, Failure: r.Failure,
		Payments:  make([]coveredJSON, len(r.Payments)),
		CreatedAt: wire.Time(r.CreatedAt), DecidedAt: mayTime(r.DecidedAt), UpdatedAt: wire.Time(r.UpdatedAt),
	}
	for i, p := range r.Payments {
		out.Payments[i] = coveredJSON{PurchaseID: p.PurchaseID, Item: p.Item, Amount: p.Amount, Currency: p.Currency}
	}
	return out
}

// listRefundRequests lists refund requests, newest first.
func (o *Operator) listRefundRequests(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, p, err := pageOf(r, "state", "partner_id")
	if err != nil {
		return err
	}
	var f refundrequest.Filter
	if f.Before, err = numberOf(q.Get("cursor")); err != nil {
		return err
	}
	if f.State, err = refundrequest.ParseState(q.Get("state")); err != nil {
		return err
	}
	if q.Has("state") && f.State == 0 {
		return fault.Parameter("state", "must be requested, refunded or declined.")
	}
	if q.Has("partner_id") {
		if f.PartnerID, err = strconv.ParseInt(q.Get("partner_id"), 10, 64); err != nil || f.PartnerID < 1 {
			return fault.Parameter("partner_id", "must be the id of a partner.")
		}
	}
	list, more, err := o.Payments.Requests.List(r.Context(), f, int(p.Limit))
	if err != nil {
		return err
	}
	next := ""
	if more {
		next = strconv.FormatInt(list[len(list)-1].ID, 10)
	}
	wire.CursorHeaders(w, r, p, next)
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, requestOf))
}

func (o *Operator) getRefundRequest(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := o.Payments.Requests.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, requestOf(q))
}

// grantRefundRequest asks the provider for the refund.
func (o *Operator) grantRefundRequest(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if err := noMembers(w, r); err != nil {
		return err
	}
	q, err := o.Payments.GrantRequest(r.Context(), actor(t), pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusAccepted, requestOf(q))
}

func (o *Operator) declineRefundRequest(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b struct {
		Reason string `json:"reason"`
	}
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	q, err := o.Payments.Requests.Decline(r.Context(), actor(t), pathID(r), b.Reason)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, requestOf(q))
}
