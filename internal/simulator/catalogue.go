package simulator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/scenario"
	"claviger/internal/secret"
)

// Kind is an entry of the catalogue of events.
type Kind struct {
	Event   event.Kind
	When    string         // when it is sent
	Reasons []event.Reason // possible reasons
}

// Kinds returns the catalogue, in the order of a license's life.
func Kinds() []Kind { return slices.Clone(kinds) }

var kinds = []Kind{
	{
		event.Purchase, "A license was sold and is not activated yet; or the plan of such a license was " +
			"changed.",
		[]event.Reason{event.Purchased, event.PlanChanged, event.RefundReversed, event.Reinstated},
	},
	{
		event.Activate, "The buyer activated the license with your application; or an active license got another " +
			"plan, or became active again.",
		[]event.Reason{event.Redeemed, event.PlanChanged, event.RefundReversed, event.Reinstated, event.Operator},
	},
	{
		event.Deactivate, "The license may no longer be used: end the access. It can become active again.",
		[]event.Reason{
			event.Refunded,
			event.Released,
			event.Transferred,
			event.UserErased,
			event.Held,
			event.Chargeback,
			event.PlanChanged,
		},
	},
}

// KindOf finds an entry by the name of its event.
func KindOf(name string) (Kind, error) {
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Event.String() == name })
	if i < 0 {
		return Kind{}, fault.New(
			fault.Missing,
			CodeUnknownEventKind,
			"There is no such kind of event: it is purchase, activate or deactivate.",
		)
	}
	return kinds[i], nil
}

// Member is a member of a webhook's body.
type Member struct{ Name, Type, About string }

// Members returns the members of every body, in order.
func Members() []Member { return slices.Clone(members) }

var members = []Member{
	{"license_key", "string", "The license; it never changes."},
	{"event", "string", "purchase, activate or deactivate."},
	{"license_status", "string", "The status after the event: inactive, active or deactivated."},
	{
		"event_timestamp",
		"integer",
		"When it happened, in milliseconds; the same on every attempt, and rising from event to event of one license.",
	},
	{
		"event_id",
		"integer",
		"The number of the event; it rises. Ignore an event whose number is not higher than the one that you stored " +
			"with the license.",
	},
	{"tier", "integer", "The tier of the plan after the event."},
	{"reason", "string", "Why it happened, as a code; more codes may come."},
	{"test", "boolean", "true for checks, scenarios and test events: answer as always, and store nothing."},
	{"created_at", "integer", "When the event was recorded, in milliseconds."},
	{"extra.reason", "string", "The reason in a sentence, for people."},
	{"previous_tier", "integer", "The tier before; only when the event changed it."},
	{
		"partner_plan_name",
		"string",
		"The name of the tier's plan at that moment; empty if the tier is no longer sold. Compare the tier, not the " +
			"name.",
	},
}

// Sample is an example event with the partner's own plan and header names, signed at a time. Its
// license does not exist.
type Sample struct {
	EventID int64
	Body    string
	Signed  courier.Signed
	Signer  courier.Signer
	At      time.Time
}

// Sample creates an example of a kind of event for a partner.
func (s *Simulator) Sample(ctx context.Context, partnerID int64, k Kind) (Sample, error) {
	p, err := s.Partners.Get(ctx, partnerID)
	if err != nil {
		return Sample{}, err
	}
	tiers, err := s.tiers(ctx, partnerID)
	if err != nil {
		return Sample{}, err
	}
	tier := scenario.Tier{Number: 1, Name: diagnose.TestPlan}
	if len(tiers) > 0 {
		tier = slices.MinFunc(tiers, func(a, b scenario.Tier) int { return a.Number - b.Number })
	}
	at := s.Now()
	body := courier.Body(courier.Event{
		LicenseKey: secret.UUID(), Kind: k.Event.String(), Status: k.Event.Status().String(), At: at,
		EventID: at.Unix(), Tier: tier.Number,
		Reason: string(k.Reasons[0]), Sentence: k.Reasons[0].Sentence(), Test: true, CreatedAt: at, PlanName: tier.Name,
	})
	return Sample{
		EventID: at.Unix(),
		Body:    string(body),
		Signed:  courier.Texts(at.Unix(), at, body),
		Signer:  courier.Signer{Brand: p.Brand},
		At:      at,
	}, nil
}

// Real is a real event, with the body of its webhook.
type Real struct {
	event.Event
	Body string
}

// LastReal returns a partner's newest event of a kind; its id is 0 if there is none.
func (s *Simulator) LastReal(ctx context.Context, partnerID int64, k Kind) (Real, error) {
	list, err := s.Events.List(ctx, partnerID, event.Filter{Kind: k.Event}, paging.Page{Number: 1, Limit: 1})
	if err != nil || len(list.Events) == 0 {
		return Real{}, err
	}
	last := Real{Event: list.Events[0]}
	body, err := s.sent(ctx, partnerID, last.ID)
	if err != nil {
		return Real{}, err
	}
	last.Body = string(body)
	return last, nil
}

// sent returns the body of an event's webhook; nil if the partner has no such event.
func (s *Simulator) sent(ctx context.Context, partnerID, eventID int64) ([]byte, error) {
	d, err := s.History.Delivery(ctx, partnerID, eventID)
	switch {
	case fault.Is(err, event.CodeUnknownEvent):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read what was sent: %w", err)
	}
	return []byte(d.Body), nil
}
