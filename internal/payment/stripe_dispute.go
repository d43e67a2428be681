package payment

import (
	"context"

	"github.com/stripe/stripe-go/v85"
)

func (s *Stripe) dispute(ctx context.Context, id string) (disputeFact, error) {
	return checkedDispute(s.client.V1Disputes.Retrieve(ctx, id, nil))
}

// stageEvidence gives the texts to the provider without submitting them. All fields are sent: an
// empty one replaces an earlier text.
func (s *Stripe) stageEvidence(ctx context.Context, e *SavedEvidence) (disputeFact, error) {
	text := func(name string) *string { return stripe.String(e.Texts[name]) }
	params := &stripe.DisputeUpdateParams{
		Submit: stripe.Bool(false),
		Evidence: &stripe.DisputeUpdateEvidenceParams{
			ProductDescription:     text(ProductDescription),
			CustomerEmailAddress:   text(CustomerEmail),
			CustomerName:           text(CustomerName),
			ServiceDate:            text(ServiceDate),
			AccessActivityLog:      text(ActivityLog),
			RefundPolicyDisclosure: text(RefundPolicy),
			UncategorizedText:      text(OtherText),
		},
	}
	params.SetIdempotencyKey(e.key("evidence"))
	return checkedDispute(s.client.V1Disputes.Update(ctx, e.DisputeID, params))
}

// submitEvidence submits the staged texts. It is final.
func (s *Stripe) submitEvidence(ctx context.Context, e *SavedEvidence) (disputeFact, error) {
	params := &stripe.DisputeUpdateParams{Submit: stripe.Bool(true)}
	params.SetIdempotencyKey(e.key("submit"))
	return checkedDispute(s.client.V1Disputes.Update(ctx, e.DisputeID, params))
}

// checkedDispute refuses an answer without an id: the library accepts {} as a dispute.
func checkedDispute(o *stripe.Dispute, err error) (disputeFact, error) {
	if err == nil && (o == nil || o.ID == "") {
		err = errNoObject
	}
	if err != nil {
		return disputeFact{}, callError(err)
	}
	return disputeOf(o), nil
}
