package signin

import (
	"net/http"

	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// dataRefundRequest is a request of the person to have money back.
type dataRefundRequest struct {
	Application string    `json:"application"`
	LicenseKey  string    `json:"license_key"`
	Amount      string    `json:"amount"`
	State       string    `json:"state"`
	Reason      string    `json:"reason"`
	Answer      string    `json:"answer"`
	RequestedAt wire.Time `json:"requested_at"`
	DecidedAt   wire.Time `json:"decided_at,omitzero"`
}

// refundRequestData returns the refund requests of the visitor.
func (h *Handler) refundRequestData(r *http.Request, v *visitor.Visitor) ([]dataRefundRequest, error) {
	if h.Requests == nil {
		return []dataRefundRequest{}, nil
	}
	found, err := h.Requests.OfUser(r.Context(), v.User.ID)
	if err != nil {
		return nil, err
	}
	list := make([]dataRefundRequest, len(found))
	for i, q := range found {
		p, err := h.Partners.Get(r.Context(), q.PartnerID)
		if err != nil {
			return nil, err
		}
		list[i] = dataRefundRequest{
			Application: p.Name, LicenseKey: q.LicenseKey, Amount: q.Total(), State: q.State.String(),
			Reason: q.Reason, Answer: q.Answer, RequestedAt: wire.Time(q.CreatedAt), DecidedAt: wire.Time(q.DecidedAt),
		}
	}
	return list, nil
}
