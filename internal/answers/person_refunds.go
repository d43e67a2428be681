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

// dataDispute is a payment that the person's bank disputes, with the texts about the person that
// operators saved as evidence.
type dataDispute struct {
	ID          string            `json:"dispute"`
	Status      string            `json:"status"`
	Reason      string            `json:"reason"`
	AmountCents int64             `json:"amount_cents"`
	Currency    string            `json:"currency"`
	OpenedAt    wire.Time         `json:"opened_at"`
	Evidence    map[string]string `json:"evidence"`
}

// disputes returns the disputes of the person's payments, oldest first.
func (h *Person) disputes(ctx context.Context, userID int64) ([]dataDispute, error) {
	if h.Payments == nil {
		return []dataDispute{}, nil
	}
	found, err := h.Payments.DisputesOf(ctx, userID)
	if err != nil {
		return nil, err
	}
	list := make([]dataDispute, len(found))
	for i, d := range found {
		list[i] = dataDispute{
			ID: d.ID, Status: d.Status, Reason: d.Reason, AmountCents: d.Amount, Currency: d.Currency,
			OpenedAt: wire.Time(d.CreatedAt), Evidence: map[string]string{},
		}
		for name, text := range d.Saved.Texts {
			if text != "" {
				list[i].Evidence[name] = text
			}
		}
	}
	return list, nil
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
