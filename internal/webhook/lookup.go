package webhook

import (
	"context"

	"claviger/internal/courier"
	"claviger/internal/fault"
	"claviger/internal/partner"
)

// LookUp returns the URL and the signing secrets of a partner's webhooks.
func (s *Store) LookUp(ctx context.Context, partnerID int64) (Endpoint, error) {
	if s.Endpoint != nil {
		return s.Endpoint(ctx, partnerID)
	}
	p, err := s.Partners.Get(ctx, partnerID)
	if fault.Is(err, partner.CodeUnknownPartner) {
		return Endpoint{}, nil // deleted: nothing to send, and no error
	}
	if err != nil || p.Paused() {
		return Endpoint{}, err // deliveries to a paused partner wait
	}
	urls, _, err := s.Profiles.Get(ctx, partnerID)
	if err != nil || urls.WebhookURL == "" {
		return Endpoint{}, err
	}
	secrets, err := s.Partners.WebhookSecrets(ctx, partnerID)
	if err != nil {
		return Endpoint{}, err
	}
	until, err := s.Partners.SigningUntil(ctx, partnerID)
	if err != nil {
		return Endpoint{}, err
	}
	return Endpoint{
		URL: urls.WebhookURL, Brand: p.Brand, Strict: p.Strict, Secrets: courier.NewSecrets(secrets...),
		Proven: !urls.WebhookValidAt.IsZero(), Until: until, InFlight: p.Webhooks,
	}, nil
}
