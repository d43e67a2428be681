package app

import (
	"context"
	"errors"
	"strings"

	"claviger/internal/license"
	"claviger/internal/payment"
	"claviger/internal/secret"
)

// stripeKey reads the key of the Stripe account.
func stripeKey(c *Config, value string) error {
	for _, prefix := range []string{"sk_test_", "sk_live_", "rk_test_", "rk_live_"} {
		if strings.HasPrefix(value, prefix) || value == "" {
			c.Stripe.Key = value
			return nil
		}
	}
	return errors.New("must be a secret key of Stripe (sk_…) or a restricted one (rk_…), not a publishable one")
}

// stripeWebhookSecret reads one or two signing secrets.
func stripeWebhookSecret(c *Config, value string) error {
	if value == "" {
		return nil
	}
	list := strings.Split(value, ",")
	for i, s := range list {
		list[i] = strings.TrimSpace(s)
		if !strings.HasPrefix(list[i], "whsec_") || len(list) > 2 {
			return errors.New("must be the signing secret of the endpoint (whsec_…), or two of them with a comma between")
		}
	}
	c.Stripe.WebhookSecrets = list
	return nil
}

// validStripe refuses a key without a webhook secret: payments would be taken and nobody
// told, and an empty secret verifies what anybody signs with nothing.
func (c Config) validStripe() error {
	switch {
	case c.Stripe.Key != "" && len(c.Stripe.WebhookSecrets) == 0:
		return errors.New("stripe-secret-key is set and stripe-webhook-secret is not; run claviger stripe setup, which makes the endpoint and prints its secret")
	case c.Stripe.Key == "" && len(c.Stripe.WebhookSecrets) > 0:
		return errors.New("stripe-webhook-secret is set and stripe-secret-key is not; set both, or neither")
	}
	return nil
}

// payments makes the service that sells for money.
func (a *App) payments(r *Services, box *secret.Sealer) *payment.Book {
	b := &payment.Book{
		DB: r.DB, Now: a.cfg.Now, Sealer: box, Licenses: r.Licenses, PublicURL: a.url, Log: a.log, Wake: func() { a.node.Wake(paymentJob) },
	}
	if a.cfg.Stripe.Key != "" {
		b.Stripe = payment.NewStripe(a.cfg.Stripe)
	}
	r.Licenses.Record = b.Record
	a.paymentJob = payment.NewJob(b)
	return b
}

// paidHere reports whether something of a refund was paid by Stripe.
func paidHere(b *payment.Book) func(context.Context, license.RefundOrder) (bool, error) {
	return func(ctx context.Context, o license.RefundOrder) (bool, error) {
		list, err := b.PaidHere(ctx, o)
		return len(list) > 0, err
	}
}
