package today

import (
	"context"
	"slices"
	"strconv"
	"time"

	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/profile"
	"claviger/internal/refundrequest"
	"claviger/internal/sqldb"
	"claviger/internal/webhook/history"
)

// Queues that can lag behind.
const (
	Deliveries = "deliveries"
	Mails      = "mails"
)

// queues adds queues with overdue items.
func (c *collection) queues(ctx context.Context, tx *sqldb.Tx) error {
	for _, q := range []struct {
		name   string
		oldest func(context.Context, sqldb.Reader, time.Time) (time.Time, error)
	}{{Deliveries, history.OldestDue}, {Mails, mail.OldestDue}} {
		at, err := q.oldest(ctx, tx, c.now)
		if err != nil {
			return err
		}
		if !at.IsZero() && c.now.Sub(at) > queueAge {
			c.add(Item{Kind: QueueOld, Subject: q.name, Since: at})
		}
	}
	return nil
}

// plans adds plans that are off sale until their price is reviewed.
func (c *collection) plans(ctx context.Context, tx *sqldb.Tx) error {
	list, err := partner.ListUnchecked(ctx, tx, most)
	for _, u := range list {
		c.add(Item{
			Kind: PlanUnchecked, PartnerID: u.PartnerID, Partner: u.Partner, Subject: strconv.Itoa(u.Plan.Tier),
			Text: u.Plan.DisplayName() + " costs " + money.Text(u.Plan.PriceCents, u.Plan.Currency) + " now.",
		})
	}
	c.capped[PlanUnchecked] = len(list) == most
	return err
}

// suspects lists licenses that were refunded but still work.
func (c *collection) suspects(ctx context.Context, tx *sqldb.Tx) error {
	list, err := license.Suspects(ctx, tx, most)
	if err != nil {
		return err
	}
	ids := make([]int64, len(list))
	for i, s := range list {
		ids[i] = s.PartnerID
	}
	slices.Sort(ids)
	partners, err := partner.ByID(ctx, tx, slices.Compact(ids))
	for _, s := range list {
		c.add(Item{Kind: RefundedWorking, PartnerID: s.PartnerID, Partner: partners[s.PartnerID].Name, Subject: s.Key})
	}
	c.capped[RefundedWorking] = len(list) == most
	return err
}

// undivided adds partners with sales that are not divided.
func (c *collection) undivided(ctx context.Context, tx *sqldb.Tx) error {
	list, err := ledger.UndividedBalances(ctx, tx, most)
	if err != nil {
		return err
	}
	ids := make([]int64, len(list))
	for i, b := range list {
		ids[i] = b.PartnerID
	}
	partners, err := partner.ByID(ctx, tx, slices.Compact(ids))
	for _, b := range list {
		c.add(Item{
			Kind: Undivided, PartnerID: b.PartnerID, Partner: partners[b.PartnerID].Name, Subject: b.Currency,
			Count: -b.Amount, Text: money.Text(-b.Amount, b.Currency) + " is not divided.",
		})
	}
	c.capped[Undivided] = len(list) == most
	return err
}

// disputes adds open disputes and inquiries, those without an answer first.
func (c *collection) disputes(ctx context.Context, tx *sqldb.Tx) error {
	list, err := payment.QueueOpenDisputes(tx, most).All(ctx)
	if err != nil {
		return err
	}
	ids := make([]int64, len(list))
	for i, d := range list {
		ids[i] = d.PartnerID
	}
	slices.Sort(ids)
	partners, err := partner.ByID(ctx, tx, slices.Compact(ids))
	for _, d := range list {
		c.add(Item{
			Kind: DisputeOpen, PartnerID: d.PartnerID, Partner: partners[d.PartnerID].Name, Subject: d.ID,
			Since: d.CreatedAt, Until: d.DueBy, Count: d.Amount,
			Text: money.Text(d.Amount, d.Currency) + ". " + d.Sentence(c.now),
		})
	}
	c.capped[DisputeOpen] = len(list) == most
	return err
}

// payments adds payments that need attention. Inquiries are among the disputes.
func (c *collection) payments(ctx context.Context, tx *sqldb.Tx) error {
	list, err := payment.QueueProblems(tx, most).All(ctx)
	for _, p := range list {
		if p.Kind == payment.InquiryOpened {
			continue
		}
		i := Item{
			Kind:    PaymentProblem,
			Subject: strconv.FormatInt(p.ID, 10),
			Since:   p.CreatedAt,
			Text:    string(p.Kind),
			Count:   p.Amount,
		}
		if p.Refundable() {
			i.Text += " refundable"
		}
		c.add(i)
	}
	c.capped[PaymentProblem] = len(list) == most
	return err
}

// refundRequests adds requests of buyers that wait for a person.
func (c *collection) refundRequests(ctx context.Context, tx *sqldb.Tx) error {
	list, err := refundrequest.Waiting(ctx, tx, most)
	if err != nil {
		return err
	}
	ids := make([]int64, len(list))
	for i, r := range list {
		ids[i] = r.PartnerID
	}
	slices.Sort(ids)
	partners, err := partner.ByID(ctx, tx, slices.Compact(ids))
	for _, r := range list {
		i := Item{
			Kind: RefundRequested, PartnerID: r.PartnerID, Partner: partners[r.PartnerID].Name,
			Subject: strconv.FormatInt(r.ID, 10), Since: r.CreatedAt, Text: r.Total() + ".",
		}
		if r.Failure != "" {
			i.Text = r.Total() + ". The refund failed: " + r.Failure + "."
		}
		c.add(i)
	}
	c.capped[RefundRequested] = len(list) == most
	return err
}

// mails adds emails that were given up.
func (c *collection) mails(ctx context.Context, tx *sqldb.Tx) error {
	list, err := mail.ListGivenUp(ctx, tx, 0, most)
	for _, m := range list {
		c.add(
			Item{
				Kind:    MailGivenUp,
				Subject: strconv.FormatInt(m.ID, 10),
				Since:   m.CreatedAt,
				Count:   int64(m.Attempts),
				Text:    m.To + ": " + m.Subject + " (" + m.Error + ")",
			},
		)
	}
	c.capped[MailGivenUp] = len(list) == most
	return err
}

// partners adds partners with a failing endpoint, with given-up events, or without a complete
// setup. Paused ones are left out.
func (c *collection) partners(ctx context.Context, tx *sqldb.Tx) error {
	var failing []history.Trouble
	for kind, which := range map[Kind]history.Endpoints{
		EndpointParked: history.OnlyParked, EndpointFailing: history.NotParked,
	} {
		list, err := history.FailingEndpoints(ctx, tx, which, history.Key{}, most)
		if err != nil {
			return err
		}
		failing = append(failing, list...)
		c.capped[kind] = len(list) == most
	}
	givenUp, err := history.PartnersGivenUp(ctx, tx, most)
	if err != nil {
		return err
	}
	lacking, err := profile.ListLacking(ctx, tx, c.now.Add(notice), 4*most)
	if err != nil {
		return err
	}
	ids := slices.Clone(givenUp)
	for _, t := range failing {
		ids = append(ids, t.PartnerID)
	}
	for _, l := range lacking {
		ids = append(ids, l.PartnerID)
	}
	slices.Sort(ids)
	all, err := partner.ByID(ctx, tx, slices.Compact(ids))
	if err != nil {
		return err
	}
	active := func(id int64) bool { p, ok := all[id]; return ok && !p.Paused() }
	name := func(i Item) Item { i.Partner = all[i.PartnerID].Name; return i }
	failing = slices.DeleteFunc(failing, func(t history.Trouble) bool { return !active(t.PartnerID) })
	givenUp = slices.DeleteFunc(givenUp, func(id int64) bool { return !active(id) })
	lacking = slices.DeleteFunc(lacking, func(l profile.Lacking) bool { return !active(l.PartnerID) })
	if err := c.endpoints(ctx, tx, failing, name); err != nil {
		return err
	}
	if err := c.givenUp(ctx, tx, givenUp, name); err != nil {
		return err
	}
	return c.lacking(ctx, tx, lacking, name)
}

// endpoints adds failing endpoints. Waiting events are counted only for the listed ones.
func (c *collection) endpoints(ctx context.Context, tx *sqldb.Tx, list []history.Trouble, name func(Item) Item) error {
	counted := map[Kind]int{}
	kind := func(t history.Trouble) Kind {
		if t.ParkedAt.IsZero() {
			return EndpointFailing
		}
		return EndpointParked
	}
	var shown, rest []history.Trouble
	for _, t := range list {
		if counted[kind(t)]++; counted[kind(t)] <= Shown {
			shown = append(shown, t)
		} else {
			rest = append(rest, t)
		}
	}
	if err := history.CountWaiting(ctx, tx, shown); err != nil {
		return err
	}
	for _, t := range slices.Concat(shown, rest) {
		c.add(
			name(
				Item{
					Kind:      kind(t),
					PartnerID: t.PartnerID,
					Since:     t.FailingSince,
					Until:     t.ProbeAt,
					Count:     t.Waiting,
					More:      t.More,
					Text:      t.LastError,
				},
			),
		)
	}
	return nil
}

// givenUp adds partners with given-up events; these are counted only for the listed ones.
func (c *collection) givenUp(ctx context.Context, tx *sqldb.Tx, ids []int64, name func(Item) Item) error {
	shown := ids[:min(Shown, len(ids))]
	counts, err := history.CountGivenUp(ctx, tx, shown)
	if err != nil {
		return err
	}
	for _, g := range counts {
		c.add(name(Item{
			Kind: EventsGivenUp, PartnerID: g.PartnerID, Since: g.Oldest, Count: g.Exhausted + g.Superseded,
			More: g.More,
			Text: strconv.FormatInt(
				g.Exhausted,
				10,
			) + " exhausted, " + strconv.FormatInt(
				g.Superseded,
				10,
			) + " superseded",
		}))
	}
	for _, id := range ids[len(shown):] {
		c.add(name(Item{Kind: EventsGivenUp, PartnerID: id}))
	}
	return nil
}

// lacking adds partners with an incomplete setup.
func (c *collection) lacking(ctx context.Context, tx *sqldb.Tx, list []profile.Lacking, name func(Item) Item) error {
	var noRedirect []int64
	for _, l := range list {
		if l.Redirect {
			noRedirect = append(noRedirect, l.PartnerID)
		}
	}
	bought, err := license.Unredeemed(ctx, tx, noRedirect)
	if err != nil {
		return err
	}
	for _, l := range list {
		if n := bought[l.PartnerID]; l.Redirect && n > 0 {
			c.add(name(Item{Kind: CannotRedeem, PartnerID: l.PartnerID, Count: n}))
		}
		if l.Contacts {
			c.add(name(Item{Kind: NoContacts, PartnerID: l.PartnerID}))
		}
		for _, url := range []struct {
			name     string
			unproven bool
		}{{"webhook_url", l.WebhookUnproven}, {"redirect_url", l.RedirectUnproven}} {
			if url.unproven {
				c.add(name(Item{Kind: URLUnproven, PartnerID: l.PartnerID, Subject: url.name}))
			}
		}
		if !l.CertificateUntil.IsZero() {
			c.add(name(Item{Kind: CertificateEnds, PartnerID: l.PartnerID, Until: l.CertificateUntil}))
		}
	}
	slices.SortStableFunc(c.items[CannotRedeem], func(a, b Item) int { return int(b.Count - a.Count) })
	slices.SortStableFunc(c.items[CertificateEnds], func(a, b Item) int { return a.Until.Compare(b.Until) })
	return nil
}
