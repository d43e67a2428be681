package devserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"claviger/internal/app"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
)

// stripePath is the path of the fake Stripe's pages.
const stripePath = "/dev/stripe"

// stripeRow is the row of dev_seeds with the fake's state: after a restart, checkouts can continue
// only if it still has their sessions.
const stripeRow = 3

// standIn is the Stripe of dev: it takes payments without real money, and posts webhooks to its
// server. The service calls it in the same process, so it works with any address and name of the
// server.
type standIn struct {
	pages *ui.Pages
	db    *sqldb.DB
	fake  *fakestripe.Server
	*poster
}

// addStripe makes the service take payments with the fake, unless the developer configured a Stripe
// account.
func (e *Server) addStripe(ctx context.Context, cfg *app.Config, db *sqldb.DB, s seed, pages ui.Pages) error {
	if cfg.Stripe.Key != "" {
		return nil
	}
	pages.Brand = "Test payments"
	pages.Home = stripePath + "/"
	pages.PublicURL = cfg.PublicURL
	in := &standIn{
		pages: &pages,
		db:    db,
		fake: &fakestripe.Server{
			Secret: "whsec_" + s.derive("stripe webhook secret"),
			URL:    stripePath,
			Now:    func() int64 { return e.clock.Now().Unix() },
		},
	}
	in.poster = newPoster(in.fake, cfg.Log)
	in.fake.Send = in.enqueue
	text, err := sqldb.One(ctx, db, sqldb.Value[string], `SELECT seed FROM dev_seeds WHERE id = $1`, stripeRow)
	switch {
	case err == nil:
		err = in.fake.Load([]byte(text))
	case errors.Is(err, sqldb.ErrNone):
		err = nil
	}
	if err != nil {
		return fmt.Errorf("read the payments of dev: %w", err)
	}
	cfg.Stripe = payment.StripeConfig{
		Key: "sk_test_dev", WebhookSecrets: []string{in.fake.Secret}, URL: "http://stripe.invalid",
		Client: &http.Client{Transport: in},
	}
	cfg.Extra = append(cfg.Extra, in.routes()...)
	e.stripe = in
	return nil
}

// RoundTrip answers a call of the service.
func (in *standIn) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := in.fake.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost {
		err = in.save(r.Context())
	}
	return resp, err
}

// save stores the fake's state.
func (in *standIn) save(ctx context.Context) error {
	text, err := in.fake.Save()
	if err != nil {
		return err
	}
	err = in.db.Write(ctx, func(tx *sqldb.Tx) error {
		tx.Queue(
			`INSERT INTO dev_seeds (id, seed) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET seed = excluded.seed`,
			stripeRow,
			string(text),
		)
		return nil
	})
	if err != nil {
		return fmt.Errorf("store the payments of dev: %w", err)
	}
	return nil
}
