package main

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"claviger/sdk/go/operator"
)

func partnerCommand() *cobra.Command {
	cmd := group("partner", "Add partners to a running service, rotate their secrets, and pause them",
		"Asks the service at --url with an operator token; changes take the scope admin.")
	cmd.AddCommand(
		partnerListCommand(),
		partnerShowCommand(),
		partnerAddCommand(),
		partnerRotateCommand(),
		partnerPauseCommand(),
		partnerResumeCommand(),
	)
	return cmd
}

// partnerID reads the id of a partner.
func partnerID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, usage("%q is not the id of a partner; claviger partner list shows them", text)
	}
	return id, nil
}

func partnerListCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{Use: "list", Short: "List partners, the newest first", Args: exactly()}
	r := operatorFlags(cmd)
	cmd.Flags().IntVar(&limit, "limit", 20, "How many at most")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if limit < 1 {
			return usage("--limit is at least 1")
		}
		c, err := r.openOperator()
		if err != nil {
			return err
		}
		found, err := first(c.Partners(cmd.Context(), operator.Order{Limit: pageSize(limit)}), limit)
		if err != nil {
			return err
		}
		return printList(
			cmd,
			r.asJSON,
			found,
			[]string{"id", "name", "brand", "client id", "webhook url", "paused", "endpoint", "waiting"},
			func(p operator.PartnerDetail) []string {
				return []string{
					strconv.FormatInt(p.ID, 10),
					oneLine(p.Name),
					p.Brand,
					p.ClientID,
					p.WebhookURL,
					stamp(p.PausedAt.Time),
					p.Endpoint.State,
					waitingEvents(p.Endpoint),
				}
			},
		)
	}
	return cmd
}

// waitingEvents formats how many events wait for an endpoint. In a list they are counted up to a
// limit.
func waitingEvents(h operator.Endpoint) string {
	text := strconv.Itoa(h.Waiting)
	if h.WaitingMore {
		text += "+"
	}
	return text
}

func partnerShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show <id>", Short: "Show one partner with the health of its endpoint",
		Example: "claviger partner show 1",
		Args:    exactly("id"),
	}
	r := operatorFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := partnerID(args[0])
		if err != nil {
			return err
		}
		c, err := r.openOperator()
		if err != nil {
			return err
		}
		p, err := c.Partner(cmd.Context(), id)
		if err != nil {
			return answered(err)
		}
		return printObject(cmd, r.asJSON, p)
	}
	return cmd
}

func partnerAddCommand() *cobra.Command {
	var name, brand, webhook, redirect, externalID string
	var strict, single, check bool
	cmd := &cobra.Command{
		Use: "add", SuggestFor: otherNamesOfAdd, Short: "Add a partner and print its credentials once",
		Long: "Adds a partner and prints it with its credentials, which are not shown again. " +
			"URLs are taken as they are, unless --validate has them checked first. With --external-id it is safe to " +
			"repeat: the second time prints no secrets.",
		Example: "claviger partner add --name 'Sample App' --webhook https://app.example/webhook --redirect " +
			"https://app.example/callback",
		Args: exactly(),
	}
	r := operatorFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&name, "name", "", "Name that buyers read")
	f.StringVar(&brand, "brand", "", "Brand in the names of headers, as in X-<Brand>-Signature")
	f.StringVar(&webhook, "webhook", "", "Where events are sent")
	f.StringVar(&redirect, "redirect", "", "Where buyers return to after consent")
	f.StringVar(&externalID, "external-id", "", "Your own number of the partner")
	f.BoolVar(&strict, "strict", false, `Count only 200 with "success": true as delivered`)
	f.BoolVar(&single, "single-key", false, "Make the API key the webhook secret too")
	f.BoolVar(&check, "validate", false, "Check the URLs first; the secret is new, so a webhook URL can hardly pass")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if name == "" {
			return usage("partner add needs --name")
		}
		c, err := r.openOperator()
		if err != nil {
			return err
		}
		p := operator.NewPartner{Name: name, Strict: &strict, SingleKey: &single, Validate: &check}
		for _, m := range []struct {
			value string
			to    **string
		}{{brand, &p.Brand}, {webhook, &p.WebhookURL}, {redirect, &p.RedirectURL}, {externalID, &p.ExternalID}} {
			if m.value != "" {
				*m.to = &m.value
			}
		}
		made, err := c.CreatePartner(cmd.Context(), p, operator.WithIdempotencyKey(rand.Text()))
		if err != nil {
			return answered(err)
		}
		if err := printObject(cmd, r.asJSON, made); err != nil || r.asJSON {
			return err
		}
		_, err = fmt.Fprintln(
			cmd.ErrOrStderr(),
			"store client_secret, api_key and webhook_secret now; they are not shown again",
		)
		return err
	}
	return cmd
}

func partnerRotateCommand() *cobra.Command {
	var overlap time.Duration
	cmd := &cobra.Command{
		Use: "rotate <id>", Short: "Replace a secret of a partner and print the new one",
		Long:    "Makes a new secret and prints it on standard output, once. The old one stays valid for --overlap.",
		Example: "claviger partner rotate 1 --what webhook_secret --overlap 72h",
		Args:    exactly("id"),
	}
	r := operatorFlags(cmd)
	what := wordFlag(cmd, "what", "Which secret", "client_secret", "api_key", "webhook_secret")
	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "How long the old secret stays valid")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := partnerID(args[0])
		switch {
		case err != nil:
			return err
		case *what == "":
			return usage("which secret? Name it with --what: client_secret, api_key or webhook_secret")
		case overlap < 0:
			return usage("--overlap is not below 0")
		}
		c, err := r.openOperator()
		if err != nil {
			return err
		}
		seconds := int(overlap / time.Second)
		made, err := c.RotateSecret(cmd.Context(), id, operator.RotationOrder{What: *what, OverlapS: &seconds})
		if err != nil {
			return answered(err)
		}
		return answer{
			json: made, out: made.Secret + "\n",
			note: fmt.Sprintf("the new %s of partner %d; store it, it is not shown again; the old one is valid "+
				"until %s:\n", made.What, id, stamp(made.PreviousValidUntil)),
		}.print(cmd, r.asJSON)
	}
	return cmd
}

func partnerPauseCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "pause <id>", Short: "Stop sales, redemptions and deliveries of a partner",
		Long: "Stops sales, plan changes, redemptions and authorizations of a partner; deliveries wait. Refunds " +
			"and issued licenses continue to work. claviger partner resume ends it.",
		Example: "claviger partner pause 1 --reason 'moves to another host until Friday'",
		Args:    exactly("id"),
	}
	r := operatorFlags(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "Why, for the audit log and the partner")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if reason == "" {
			return usage("partner pause needs --reason")
		}
		return setPaused(cmd, r, args[0], func(c *operator.Client, id int64) (operator.Partner, error) {
			return c.PausePartner(cmd.Context(), id, reason)
		})
	}
	return cmd
}

func partnerResumeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "resume <id>", Short: "End the pause of a partner", Example: "claviger partner resume 1",
		Args: exactly("id"),
	}
	r := operatorFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return setPaused(cmd, r, args[0], func(c *operator.Client, id int64) (operator.Partner, error) {
			return c.ResumePartner(cmd.Context(), id)
		})
	}
	return cmd
}

// setPaused begins or ends a pause and prints the partner.
func setPaused(
	cmd *cobra.Command,
	r *remote,
	idText string,
	set func(*operator.Client, int64) (operator.Partner, error),
) error {
	id, err := partnerID(idText)
	if err != nil {
		return err
	}
	c, err := r.openOperator()
	if err != nil {
		return err
	}
	p, err := set(c, id)
	if err != nil {
		return answered(err)
	}
	return printObject(cmd, r.asJSON, p)
}
