package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"claviger/internal/app"
	"claviger/internal/payment"
)

// stripeURL is the address of Stripe's API; "" is Stripe's own. Only tests set it.
var stripeURL string

func stripeCommand() *cobra.Command {
	cmd := group("stripe", "Connect the Stripe account that takes the money",
		"Buyers pay on a page of Stripe, and Stripe tells the service by webhooks. This makes the endpoint that "+
			"they go to.")
	cmd.AddCommand(stripeSetupCommand())
	return cmd
}

func stripeSetupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "setup", Short: "Make the webhook endpoint at Stripe",
		Long: "Makes an endpoint at Stripe that sends the events of payments to /stripe/webhook of --public-url, in " +
			"the version that this program reads. " +
			"Prints its signing secret on standard output, once: set it as stripe-webhook-secret and start the " +
			"service. " +
			"If there is an endpoint for this address already, nothing is changed. A key of test mode makes an " +
			"endpoint of test mode; run it again with the live key.",
		Example: "claviger stripe setup --public-url https://licenses.example.com --stripe-secret-key-file " +
			"/etc/claviger/stripe-key",
		Args: exactly(),
	}
	g := settingFlags(cmd, app.Serve, "public-url", "stripe-secret-key")
	g.stripeSetup = true
	asJSON := cmd.Flags().Bool("json", false, "Print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		switch {
		case cfg.Stripe.Key == "":
			return usage("there is no key; set stripe-secret-key, which is at Stripe under Developers, API keys")
		case !strings.HasPrefix(cfg.PublicURL, "https://"):
			return usage(
				"Stripe sends webhooks to https only; set public-url to the https address at which the service is " +
					"reached from outside",
			)
		}
		return setUpStripe(cmd, cfg, *asJSON)
	}
	return cmd
}

func setUpStripe(cmd *cobra.Command, cfg app.Config, asJSON bool) error {
	client := payment.NewStripe(payment.StripeConfig{Key: cfg.Stripe.Key, URL: stripeURL})
	mode := "test"
	if client.Live() {
		mode = "live"
	}
	e, made, err := client.MakeEndpoint(cmd.Context(), strings.TrimSuffix(cfg.PublicURL, "/")+"/stripe/webhook")
	if err != nil {
		return stripeError(err)
	}
	a := answer{
		json: struct {
			ID     string `json:"id"`
			URL    string `json:"url"`
			Mode   string `json:"mode"`
			Made   bool   `json:"made"`
			Secret string `json:"secret,omitempty"` // only if just created
		}{e.ID, e.URL, mode, made, e.Secret},
		out: e.Secret + "\n",
		then: fmt.Sprintf("endpoint %s, in %s mode, for %s\n"+
			"set the secret above as stripe-webhook-secret (CLAVIGER_STRIPE_WEBHOOK_SECRET), beside "+
			"stripe-secret-key, and start the service; it is not shown again here\n", e.ID, mode, e.URL),
	}
	if !made {
		a.out = ""
		a.then = fmt.Sprintf("the endpoint %s is there already, in %s mode, for %s; nothing was changed\n"+
			"Stripe shows its secret under Developers, Webhooks; to have a new one, delete the endpoint there and "+
			"run this again\n", e.ID, mode, e.URL)
	}
	return a.print(cmd, asJSON)
}

// stripeError adds advice for the operator to a failed call.
func stripeError(err error) error {
	e, ok := errors.AsType[*payment.CallError](err)
	if !ok {
		return err
	}
	switch {
	case e.Status == 0:
		return &failure{exitUnreachable, fmt.Errorf("%w; check that this machine may reach api.stripe.com", err)}
	case e.Status == http.StatusUnauthorized:
		//nolint:staticcheck // A name begins with a capital.
		return errors.New("Stripe does not know this key; copy it again from Developers, API keys, " +
			"and see that it was not revoked")
	case e.Status == http.StatusForbidden:
		return errors.New(
			"the key may not make endpoints; give the restricted key Write for Webhook Endpoints at Stripe, or make " +
				"the endpoint with another key",
		)
	case e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError:
		return &failure{exitUnreachable, fmt.Errorf("%w; try again in a minute", err)}
	}
	return err
}
