package app

import (
	"cmp"
	"errors"
	"strings"

	"claviger/internal/payment"
	"claviger/internal/refundrequest"
	"claviger/internal/secret"
)

// stripeKey parses the key of the Stripe account.
func stripeKey(c *Config, value string) error {
	for _, prefix := range []string{"sk_test_", "sk_live_", "rk_test_", "rk_live_"} {
		if strings.HasPrefix(value, prefix) || value == "" {
			c.Stripe.Key = value
			return nil
		}
	}
	return errors.New("must be a secret key of Stripe (sk_…) or a restricted one (rk_…), not a publishable one")
}

// stripeWebhookSecret parses one or two signing secrets.
func stripeWebhookSecret(c *Config, value string) error {
	if value == "" {
		return nil
	}
	list := strings.Split(value, ",")
	for i, s := range list {
		list[i] = strings.TrimSpace(s)
		if !strings.HasPrefix(list[i], "whsec_") || len(list) > 2 {
			return errors.New(
				"must be the signing secret of the endpoint (whsec_…), or two of them with a comma between",
			)
		}
	}
	c.Stripe.WebhookSecrets = list
	return nil
}

// validStripe refuses a key without a webhook secret: payments would be taken without events, and
// an empty secret verifies anything signed with an empty key.
func (c Config) validStripe() error {
	switch {
	case c.Stripe.Key != "" && len(c.Stripe.WebhookSecrets) == 0:
		return errors.New(
			"stripe-secret-key is set and stripe-webhook-secret is not; run claviger stripe setup, which makes the " +
				"endpoint and prints its secret",
		)
	case c.Stripe.Key == "" && len(c.Stripe.WebhookSecrets) > 0:
		return errors.New("stripe-webhook-secret is set and stripe-secret-key is not; set both, or neither")
	}
	return nil
}

// payments creates the service that sells for money.
func (a *App) payments(r *Services, box *secret.Sealer) *payment.Store {
	b := &payment.Store{
		DB: r.DB, Now: a.cfg.Now, Sealer: box, Licenses: r.Licenses, Accounts: r.Accounts, PublicURL: a.url,
		Log: a.log, Wake: a.node.Waker(paymentJob), Marketplace: cmp.Or(a.cfg.Name, "Claviger"),
	}
	if a.sendsMail() { // otherwise each email would fail
		b.Mail = r.Mail
	}
	b.Requests = a.refundRequests(r)
	b.Requested = a.cfg.RefundRequests
	if a.cfg.Stripe.Key != "" {
		b.Stripe = payment.NewStripe(a.cfg.Stripe)
	}
	r.Licenses.Record = b.Record
	r.Licenses.OnUncovered = b.Uncovered
	a.paymentJob = payment.NewJob(b)
	return b
}

// refundRequests creates the store of refund requests. Its emails are sent where buyers get emails
// about their purchases.
func (a *App) refundRequests(r *Services) *refundrequest.Store {
	s := &refundrequest.Store{
		DB: r.DB, Now: a.cfg.Now, PublicURL: a.url, Marketplace: cmp.Or(a.cfg.Name, "Claviger"),
	}
	if a.tellsBuyers() {
		s.Mail = r.Mail
	}
	return s
}

// refundMode parses what a refund request does.
func refundMode(c *Config, value string) (err error) {
	c.RefundRequests, err = payment.ParseRequestMode(value)
	return err
}
