package app

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"claviger/internal/payment"
)

// stripe asks Stripe whether the key works, in which mode, whether webhooks come here, and whether the
// key may read fees.
func (e *examination) stripe(ctx context.Context) {
	if e.cfg.Stripe.Key == "" {
		return
	}
	mode := "test"
	if payment.LiveKey(e.cfg.Stripe.Key) {
		mode = "live"
	}
	client := payment.NewStripe(e.cfg.Stripe)
	url := e.cfg.PublicURL + "/stripe/webhook"
	found, err := client.Subscription(ctx, url)
	e.stripeEndpoint(mode, url, found, err)
	if err == nil || callStatus(err) == http.StatusForbidden {
		e.stripeFees(mode, client.ReadFees(ctx))
	}
}

// stripeEndpoint reports on the key, and on the endpoint that Stripe sends webhooks to.
func (e *examination) stripeEndpoint(mode, url string, found *payment.Subscription, err error) {
	const name = "Stripe"
	switch {
	case err != nil:
		e.stripeRefused(name, mode, err)
	case e.cfg.PublicURL == "":
		e.say(name, Warned, "Set public-url: Stripe sends webhooks to it.", "the key works, in %s mode", mode)
	case found == nil:
		e.say(name, Failed, "Run claviger stripe setup, and set the secret that it prints as stripe-webhook-secret.",
			"the key works, in %s mode, but no endpoint there leads to %s: payments are noticed late", mode, url)
	case !found.Enabled:
		e.say(name, Failed, "Enable the endpoint at Stripe, under Developers, Webhooks.",
			"the key works, in %s mode, but the endpoint for %s is disabled: payments are noticed late", mode, url)
	case len(found.Missing) > 0:
		e.say(name, Failed, "Add these events to the endpoint at Stripe, under Developers, Webhooks.",
			"the endpoint for %s does not get %s", url, strings.Join(found.Missing, ", "))
	case mode == "test" && strings.HasPrefix(e.cfg.PublicURL, "https://"):
		e.say(name, Warned, "Before you sell, set the key and the webhook secret of live mode.",
			"the key works, in test mode: no money moves; webhooks go to %s", url)
	default:
		e.say(name, Passed, "", "the key works, in %s mode, and webhooks go to %s", mode, url)
	}
}

// stripeFees reports a restricted key that may not read fees. Other failures were reported before.
func (e *examination) stripeFees(mode string, err error) {
	if callStatus(err) == http.StatusForbidden {
		e.say("Stripe fees", Failed,
			"Give the restricted key Read for PaymentIntents, Charges and Balance transaction sources at Stripe.",
			"the key works, in %s mode, but may not read the fees of payments: the ledger has no fees", mode)
	}
}

// callStatus returns the status with which Stripe refused a call; 0: it gave no answer.
func callStatus(err error) int {
	if call, ok := errors.AsType[*payment.CallError](err); ok {
		return call.Status
	}
	return 0
}

// stripeRefused explains a call that failed.
func (e *examination) stripeRefused(name, mode string, err error) {
	switch callStatus(err) {
	case 0:
		e.say(name, Failed, "Let this machine reach api.stripe.com.", "%v", err)
	case http.StatusUnauthorized:
		e.say(name, Failed, "Copy the key again from Developers, API keys at Stripe, and see that it was not revoked.",
			"Stripe does not know the key of stripe-secret-key")
	case http.StatusForbidden:
		e.say(name, Warned,
			"Give the restricted key Read for Webhook Endpoints at Stripe, or look at the endpoint there.",
			"the key works, in %s mode, but may not see where webhooks go", mode)
	default:
		e.say(name, Failed, "Try again in a minute; Stripe's status page says whether it is down.", "%v", err)
	}
}
