package support

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/paging"
	"claviger/internal/webhook/history"
)

// addEvents adds the events of the license, the attempts to deliver them, and the last answer of
// the partner's server.
func (d *Store) addEvents(ctx context.Context, c *Case) error {
	events, err := d.Events.OfLicense(ctx, c.License.ID, event.Filter{}, paging.Page{Number: 1, Limit: maxEvents})
	if err != nil {
		return err
	}
	deliveries, err := d.History.List(
		ctx, c.License.PartnerID, history.Filter{LicenseID: c.License.ID}, history.Key{}, maxEvents,
	)
	if err != nil {
		return err
	}
	ids := make([]int64, len(deliveries.Deliveries))
	for i, v := range deliveries.Deliveries {
		ids[i] = v.EventID
	}
	tries, err := d.History.Tries(ctx, ids)
	if err != nil {
		return err
	}
	c.More = c.More || events.More
	for _, e := range events.Events {
		c.Entries = append(c.Entries, eventEntry(e, e.Imported(c.License.CreatedAt)))
		of := tries[e.ID]
		if left := len(of) - maxAttempts; left > 0 {
			c.More = true
			of = of[left:]
		}
		for _, t := range of {
			c.Entries = append(c.Entries, attemptEntry(e, t))
		}
	}
	c.Server = serverSays(deliveries.Deliveries, tries)
	return nil
}

func eventEntry(e event.Event, imported bool) Entry {
	became := "became"
	text := e.Reason.Sentence()
	if imported {
		became = "was imported as"
		text = event.ImportedSentence
	}
	return Entry{
		At: e.CreatedAt, Kind: Event, EventID: e.ID, Text: text, became: e.Kind.Status(),
		Title: fmt.Sprintf("The license %s %s, tier %d (event %d, %s)", became, e.Kind.Status(), e.Tier, e.ID, e.Kind),
	}
}

func attemptEntry(e event.Event, t history.Try) Entry {
	out := Entry{At: t.At, Kind: Delivery, EventID: e.ID, AttemptID: t.ID, Failed: !t.Success, by: t.Manual.By}
	switch {
	case t.Success:
		out.Title = fmt.Sprintf("The partner's server accepted event %d", e.ID)
		out.Text = fmt.Sprintf("It answered %d after %s.", t.Status, took(t.Took))
	default:
		out.Title = fmt.Sprintf("The partner's server did not accept event %d", e.ID)
		out.Text = sentence(t.Words())
		if t.Diagnosis != "" {
			out.Text += " The partner is told: " + sentence(t.Diagnosis)
		}
	}
	if t.Manual.By.Kind == audit.ByUser || t.Manual.By.Kind == audit.ByToken {
		out.Text += " It was sent by hand."
	}
	return out
}

// serverSays describes the answer of the partner's server to the newest event, and the next step.
func serverSays(list []history.Delivery, tries map[int64][]history.Try) []string {
	if len(list) == 0 {
		return []string{"The partner was not told of anything yet."}
	}
	newest := list[0]
	for _, v := range list {
		if v.EventID > newest.EventID {
			newest = v
		}
	}
	var says []string
	if of := tries[newest.EventID]; len(of) == 0 {
		says = append(
			says,
			fmt.Sprintf("The newest event (%d) was not sent to the partner's server yet.", newest.EventID),
		)
	} else {
		e := attemptEntry(event.Event{ID: newest.EventID}, of[len(of)-1])
		says = append(says, e.Title+", the newest one. "+e.Text)
	}
	switch newest.State {
	case history.Exhausted:
		says = append(says, "Every attempt failed, so it is no longer tried. It can be sent again.")
	case history.Superseded:
		says = append(says, "A newer event was sent in its place.")
	case history.Waiting, history.Failing:
		if newest.NextAt.IsZero() {
			says = append(says, "It waits; events of a license are sent in order.")
		} else {
			says = append(says, "The next attempt is due at "+stamp(newest.NextAt)+".")
		}
	case history.AnyState, history.Failed, history.Delivered: // no next step
	}
	return says
}

func took(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
