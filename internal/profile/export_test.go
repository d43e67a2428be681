package profile

import (
	"context"

	"claviger/internal/partner"
)

// Validate checks URLs of a partner with these secrets, without a database.
func (b *Book) Validate(ctx context.Context, p partner.Partner, urls URLChange, secrets ...string) ([]Check, error) {
	return b.check(ctx, &news{webhook: urls.Webhook, redirect: urls.Redirect}, party{Partner: p, secrets: secrets})
}
