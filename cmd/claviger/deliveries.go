package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"claviger/internal/app"
	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

func deliveriesCommand() *cobra.Command {
	cmd := group(
		"deliveries",
		"Look at webhooks of a running service, and send them again",
		"Asks the service at --url. With the API key of a partner you see that partner's deliveries; with an "+
			"operator token name the partner by --partner, unless there is only one.",
	)
	cmd.AddCommand(
		deliveriesListCommand(),
		deliveriesShowCommand(),
		deliveriesRedeliverCommand(),
		deliveriesRedeliverAllCommand(),
	)
	return cmd
}

// partnerFlag adds the flag that selects a partner's deliveries for an operator.
func partnerFlag(cmd *cobra.Command) *int64 {
	return cmd.Flags().Int64("partner", 0, "Id of the partner, with an operator token; without it, the only one")
}

// openFor is open for commands on the deliveries of one partner. A key belongs to one. With a token
// it is the named one, or the only one, and partnerID is set.
func (r *remote) openFor(ctx context.Context, partnerID *int64) (asker, error) {
	a, err := r.connect()
	switch {
	case err != nil:
		return a, err
	case a.partner != nil && *partnerID != 0:
		return a, usage("--partner needs an operator token; an API key is that of one partner")
	case a.operator != nil && *partnerID == 0:
		*partnerID, err = onlyPartner(ctx, a.operator)
	}
	return a, answered(err)
}

// maxNamed is the maximum number of partners in an error.
const maxNamed = 10

// onlyPartner returns the id of the only partner. If there are several, the error lists them.
func onlyPartner(ctx context.Context, c *operator.Client) (int64, error) {
	partners, err := first(c.Partners(ctx, operator.Order{OldestFirst: true, Limit: maxNamed + 1}), maxNamed+1)
	switch {
	case err != nil:
		return 0, err
	case len(partners) == 0:
		return 0, &failure{exitRefused, errors.New("there is no partner yet; claviger partner add adds one")}
	case len(partners) == 1:
		return partners[0].ID, nil
	}
	var names []string
	for _, p := range partners[:min(len(partners), maxNamed)] {
		names = append(names, fmt.Sprintf("%d (%s)", p.ID, oneLine(p.Name)))
	}
	rest := "claviger partner list shows them"
	if len(partners) > maxNamed {
		rest = "there are more: claviger partner list shows them"
	}
	return 0, usage("which partner? Name it with --partner N, which is one of %s; %s", strings.Join(names, ", "), rest)
}

func deliveriesListCommand() *cobra.Command {
	var f claviger.DeliveryFilter
	var limit int
	var since string
	cmd := &cobra.Command{
		Use: "list", Short: "List deliveries with their last attempt, the newest event first",
		Example: "claviger deliveries list --state failed --since 24h\n" +
			"claviger deliveries list --license 3794577c-3a4f-4d0c-9c5e-0d6c2f0fc550",
		Args: exactly(),
	}
	r := remoteFlags(cmd)
	partnerID := partnerFlag(cmd)
	state := wordFlag(cmd, "state", "Only those in this state", deliveryStates...)
	kind := wordFlag(cmd, "event", "Only events of this kind", eventKinds...)
	cmd.Flags().
		StringVar(&f.StatusCode, "status-code", "", "Only those whose last answer was this: a status, a class such "+
			"as 4xx, or none")
	cmd.Flags().StringVar(&f.LicenseKey, "license", "", "Only those of this license key")
	cmd.Flags().
		StringVar(&since, "since", "", "Only events since then: as long ago as 30m or 7d, or a day such as 2027-01-31")
	cmd.Flags().IntVar(&limit, "limit", 20, "How many at most")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		if f.From, err = parseSince(since, app.Now()); err != nil {
			return err
		}
		if limit < 1 {
			return usage("--limit is at least 1")
		}
		a, err := r.openFor(cmd.Context(), partnerID)
		if err != nil {
			return err
		}
		f.State, f.Event, f.Limit = *state, *kind, pageSize(limit)
		found, err := first(a.deliveries(cmd.Context(), *partnerID, f), limit)
		if err != nil {
			return err
		}
		return printList(cmd, r.asJSON, found, deliveryColumns, deliveryRow)
	}
	return cmd
}

// deliveries lists the deliveries of a partner, with either client.
func (a asker) deliveries(
	ctx context.Context,
	partnerID int64,
	f claviger.DeliveryFilter,
) iter.Seq2[claviger.Delivery, error] {
	if a.partner != nil {
		return a.partner.Deliveries(ctx, f)
	}
	return a.operator.Deliveries(ctx, partnerID, operator.DeliveryFilter(f))
}

var deliveryColumns = []string{"event", "kind", "license key", "state", "answer", "attempts", "created", "next attempt"}

func deliveryRow(d claviger.Delivery) []string {
	return []string{
		strconv.FormatInt(d.EventID, 10), d.Event, d.LicenseKey, d.State, answerOf(d.StatusCode, d.Cause),
		strconv.Itoa(d.Attempts), stamp(d.CreatedAt), stamp(d.NextAttemptAt),
	}
}

// answerOf returns the outcome of an attempt in a few words.
func answerOf(status int, cause string) string {
	switch {
	case cause != "":
		return cause
	case status == 0:
		return ""
	}
	return strconv.Itoa(status)
}

// eventID reads the id of an event.
func eventID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, usage("%q is not the id of an event; claviger deliveries list shows them", text)
	}
	return id, nil
}

func deliveriesShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show <event id>", Short: "Show one delivery and its attempts",
		Example: "claviger deliveries show 4711",
		Args:    exactly("event id"),
	}
	r := remoteFlags(cmd)
	partnerID := partnerFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := eventID(args[0])
		if err != nil {
			return err
		}
		a, err := r.openFor(cmd.Context(), partnerID)
		if err != nil {
			return err
		}
		var d claviger.DeliveryDetail
		if a.partner != nil {
			d, err = a.partner.Delivery(cmd.Context(), id)
		} else {
			d, err = a.operator.Delivery(cmd.Context(), *partnerID, id)
		}
		if err != nil {
			return answered(err)
		}
		return printDelivery(cmd, r.asJSON, d)
	}
	return cmd
}

// printDelivery writes a delivery, then a table of its attempts.
func printDelivery(cmd *cobra.Command, asJSON bool, d claviger.DeliveryDetail) error {
	attempts := d.AttemptList.Items
	if err := printObject(cmd, asJSON, d); err != nil || asJSON || len(attempts) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout()); err != nil {
		return err
	}
	return printList(cmd, false, attempts, []string{"attempt", "number", "at", "answer", "ms"}, attemptRow)
}

func attemptRow(a claviger.AttemptSummary) []string {
	return []string{
		strconv.FormatInt(
			a.AttemptID,
			10,
		), strconv.Itoa(a.Number), stamp(a.At), answerOf(a.StatusCode, a.Cause), strconv.FormatInt(a.DurationMs, 10),
	}
}

func deliveriesRedeliverCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "redeliver <event id>", Aliases: []string{"resend"}, Short: "Have the webhook of an event sent again",
		Long: "Has the webhook of an event sent again, also if it was delivered. The order of the license's " +
			"events is kept.",
		Example: "claviger deliveries redeliver 4711",
		Args:    exactly("event id"),
	}
	r := remoteFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := eventID(args[0])
		if err != nil {
			return err
		}
		a, err := r.connect()
		if err != nil {
			return err
		}
		if a.partner != nil {
			err = a.partner.Redeliver(cmd.Context(), id)
		} else {
			_, err = a.operator.Redeliver(cmd.Context(), id)
		}
		if err != nil {
			return answered(err)
		}
		return answer{
			json: map[string]int64{"event_id": id},
			note: fmt.Sprintf("event %d is sent again; claviger deliveries show %d shows its attempts\n", id, id),
		}.print(cmd, r.asJSON)
	}
	return cmd
}
