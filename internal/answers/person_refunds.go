package answers

import (
	"context"

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

// refundRequests returns the refund requests of the person.
func (h *Person) refundRequests(ctx context.Context, userID int64) ([]dataRefundRequest, error) {
	if h.Payments == nil || h.Payments.Requests == nil {
		return []dataRefundRequest{}, nil
	}
	found, err := h.Payments.Requests.OfUser(ctx, userID)
	if err != nil {
		return nil, err
	}
	list := make([]dataRefundRequest, len(found))
	for i, q := range found {
		p, err := h.Partners.Get(ctx, q.PartnerID)
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
