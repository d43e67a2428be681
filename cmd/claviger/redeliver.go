package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"claviger/internal/app"
	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

// redeliveryPoll is the polling interval of a running redelivery.
const redeliveryPoll = 500 * time.Millisecond

func deliveriesRedeliverAllCommand() *cobra.Command {
	var f claviger.DeliveryFilter
	var rate int
	var since, until string
	var dry, detach bool
	cmd := &cobra.Command{
		Use: "redeliver-all", Aliases: []string{"replay"}, Short: "Have the webhooks of many events sent again",
		Long: "Has every event sent again that matches, oldest first and in order per license, and waits until all " +
			"are queued. " +
			"What was delivered meanwhile is left out, unless --state delivered asks for it. An interrupt leaves it " +
			"running; there is one at a time.",
		Example: "claviger deliveries redeliver-all --state failed --since 24h --dry-run\n" +
			"claviger deliveries redeliver-all --state failed --since 24h --rate 20",
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
	cmd.Flags().StringVar(&until, "until", "", "Only events before then, likewise")
	cmd.Flags().IntVar(&rate, "rate", 0, "Events a second (default 50)")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "Only say how many it would send, and how long that takes")
	cmd.Flags().BoolVar(&detach, "detach", false, "Do not wait until all are queued")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var err error
		now := app.Now()
		if f.From, err = parseSince(since, now); err != nil {
			return err
		}
		if f.To, err = parseTime("--until", until, now, -1); err != nil {
			return err
		}
		if rate < 0 {
			return usage("--rate is not below 0")
		}
		a, err := r.openFor(cmd.Context(), partnerID)
		if err != nil {
			return err
		}
		f.State = *state
		f.Event = *kind
		j := redeliverer{asker: a, partnerID: *partnerID}
		if dry {
			return j.estimate(cmd, r.asJSON, f, rate)
		}
		return j.run(cmd, r.asJSON, f, rate, detach)
	}
	return cmd
}

// redeliverer redelivers many events, with either client.
type redeliverer struct {
	asker
	partnerID int64
}

// estimate prints the effect of a redelivery.
func (j redeliverer) estimate(cmd *cobra.Command, asJSON bool, f claviger.DeliveryFilter, rate int) error {
	var e claviger.RedeliveryEstimate
	var err error
	if j.partner != nil {
		e, err = j.partner.EstimateRedelivery(cmd.Context(), f, rate)
	} else {
		e, err = j.operator.EstimateRedelivery(cmd.Context(), j.partnerID, operator.DeliveryFilter(f), rate)
	}
	if err != nil {
		return answered(err)
	}
	return printObject(cmd, asJSON, e)
}

// run begins a redelivery and waits until it has ended.
func (j redeliverer) run(cmd *cobra.Command, asJSON bool, f claviger.DeliveryFilter, rate int, detach bool) error {
	job, err := j.begin(cmd.Context(), f, rate)
	if err != nil {
		return answered(err)
	}
	p := newProgress(cmd.ErrOrStderr(), "queued")
	for !detach && job.Status == "running" {
		p.show(job.Count, job.Expected)
		if err := pause(cmd.Context(), redeliveryPoll); err != nil {
			break // it continues on the server
		}
		if job, err = j.get(cmd.Context(), job.RedeliveryID); err != nil {
			if cmd.Context().Err() != nil {
				break
			}
			return answered(err)
		}
	}
	p.end()
	if err := printObject(cmd, asJSON, job); err != nil {
		return err
	}
	if job.Stopped != "" {
		return &failure{exitRefused, errors.New("it was stopped: " + job.Stopped)}
	}
	return nil
}

func (j redeliverer) begin(ctx context.Context, f claviger.DeliveryFilter, rate int) (claviger.RedeliveryJob, error) {
	o := claviger.RedeliveryOrder{}
	for _, m := range []struct {
		value string
		to    **string
	}{
		{f.State, &o.State},
		{f.Event, &o.Event},
		{f.StatusCode, &o.StatusCode},
		{f.LicenseKey, &o.LicenseKey},
		{stampFull(f.From), &o.From},
		{stampFull(f.To), &o.To},
	} {
		if m.value != "" {
			*m.to = &m.value
		}
	}
	if rate > 0 {
		o.Rate = &rate
	}
	if j.partner != nil {
		return j.partner.BeginRedelivery(ctx, o)
	}
	return j.operator.BeginRedelivery(ctx, j.partnerID, o)
}

func (j redeliverer) get(ctx context.Context, id int64) (claviger.RedeliveryJob, error) {
	if j.partner != nil {
		return j.partner.Redelivery(ctx, id)
	}
	return j.operator.Redelivery(ctx, j.partnerID, id)
}

// stampFull formats a time for the API; "" for none.
func stampFull(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// pause waits, or returns an error when the command ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// eventKinds and deliveryStates are the values of flags.
var (
	eventKinds     = []string{"purchase", "activate", "deactivate"}
	deliveryStates = []string{"delivered", "waiting", "failing", "exhausted", "superseded", "failed"}
)
