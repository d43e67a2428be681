package profile

import (
	"context"

	"claviger/internal/partner"
)

// Validate checks URLs of a partner with these secrets, without a database.
func (b *Store) Validate(ctx context.Context, p partner.Partner, urls URLChange, secrets ...string) ([]Check, error) {
	return b.try(ctx, &urlUpdate{webhook: urls.Webhook, redirect: urls.Redirect}, checkedPartner{Partner: p, secrets: secrets})
}

// Claim claims a partner's URLs for a check that never ends.
func (b *Store) Claim(ctx context.Context, partnerID int64) error {
	_, err := b.claim(ctx, partnerID)
	return err
}
