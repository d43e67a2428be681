package export

import (
	"context"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/money"
)

// OperatorLicenses returns the list of licenses for the marketplace, with their owners.
func (x *Exporter) OperatorLicenses(f license.FindAny) Table {
	before := int64(0)
	return Table{
		Kind: Licenses, PartnerID: f.PartnerID,
		Columns: []string{
			"license_key", "partner_id", "status", "tier", "owner_id", "owner_email", "owner_external_id",
			"redeemed", "released", "held", "created_at", "updated_at",
		},
		About: func(ctx context.Context) (Estimate, error) { return x.aboutLicenses(ctx, f) },
		Next: func(ctx context.Context) (rows [][]Cell, more bool, err error) {
			found, err := x.Licenses.FindAny(ctx, f, before, batchSize)
			if err != nil {
				return nil, false, err
			}
			ids := make([]int64, 0, len(found.Licenses))
			for _, l := range found.Licenses {
				ids = append(ids, l.OwnerID)
			}
			owners, err := x.Accounts.Users(ctx, ids)
			for _, l := range found.Licenses {
				u := owners[l.OwnerID]
				rows = append(rows, []Cell{
					Text(l.Key), Number(l.PartnerID), Text(l.Status.String()), Number(l.Tier), ID(l.OwnerID),
					Text(u.Address()), Text(u.ExternalID),
					Bool(l.Redeemed), Bool(l.Released), Text(l.Held.String()), Time(l.CreatedAt), Time(l.UpdatedAt),
				})
			}
			before = found.Next
			return rows, before != 0, err
		},
	}
}

// OperatorPurchases returns the list of purchases and plan changes, with their buyers.
func (x *Exporter) OperatorPurchases(f license.FindSales) Table {
	before := int64(0)
	return Table{
		Kind: Purchases, PartnerID: f.PartnerID,
		Columns: []string{
			"id", "partner_id", "kind", "external_id", "tier", "quantity", "amount_cents", "currency",
			"user_id", "user_email", "user_external_id", "created_at", "sold_at",
		},
		About: func(ctx context.Context) (Estimate, error) {
			if !f.OfPartner() {
				return Unknown, nil
			}
			n, more, err := x.Licenses.SalesCounted(ctx, f.PartnerID, maxCounted)
			return Estimate{Rows: n, More: more}, err
		},
		Next: func(ctx context.Context) (rows [][]Cell, more bool, err error) {
			found, err := x.Licenses.FindSales(ctx, f, before, batchSize)
			if err != nil {
				return nil, false, err
			}
			ids := make([]int64, 0, len(found.Sales))
			for _, s := range found.Sales {
				ids = append(ids, s.UserID)
			}
			buyers, err := x.Accounts.Users(ctx, ids)
			for _, s := range found.Sales {
				u := buyers[s.UserID]
				rows = append(rows, []Cell{
					Number(s.ID), Number(s.PartnerID), Text(s.Kind.String()), Text(s.ExternalID),
					Number(s.Tier), Number(s.Quantity),
					Number(money.Units(s.AmountCents, s.Currency, s.Hundredths)), Text(s.Currency),
					ID(s.UserID), Text(u.Address()), Text(u.ExternalID), Time(s.CreatedAt), Time(s.SoldAt),
				})
			}
			before = found.Next
			return rows, before != 0, err
		},
	}
}

// OperatorEvents returns the list of events.
func (x *Exporter) OperatorEvents(w event.Walk) Table {
	before := int64(0)
	return Table{
		Kind: Events, PartnerID: w.PartnerID,
		Columns: []string{
			"event_id", "partner_id", "license_key", "event", "license_status", "tier", "previous_tier",
			"reason", "event_timestamp", "created_at",
		},
		About: func(ctx context.Context) (Estimate, error) {
			if w != (event.Walk{PartnerID: w.PartnerID}) {
				return Unknown, nil
			}
			n, err := x.Events.Counted(ctx, w.PartnerID)
			return Estimate{Rows: n}, err
		},
		Next: func(ctx context.Context) (rows [][]Cell, more bool, err error) {
			list, next, err := x.Events.Walk(ctx, w, before, batchSize)
			for _, e := range list {
				previous := Cell{}
				if e.PreviousTier != 0 {
					previous = Number(e.PreviousTier)
				}
				rows = append(rows, []Cell{
					Number(e.ID), Number(e.PartnerID), Text(e.LicenseKey), Text(e.Kind.String()),
					Text(e.Kind.Status().String()), Number(e.Tier), previous,
					Text(string(e.Reason)), Number(e.At.UnixMilli()), Time(e.CreatedAt),
				})
			}
			before = next
			return rows, next != 0, err
		},
	}
}

// OperatorAudit returns the list of audit entries.
func (x *Exporter) OperatorAudit(f audit.Filter) Table {
	before := int64(0)
	return Table{
		Kind: Audit, PartnerID: f.PartnerID,
		Columns: []string{
			"id", "at", "actor_kind", "actor_id", "actor_name", "session", "client", "action", "subject",
			"partner_id", "before", "after", "acting_for", "support_visit",
		},
		About: func(ctx context.Context) (Estimate, error) {
			if f != (audit.Filter{}) {
				return Unknown, nil
			}
			n, err := x.Audit.Newest(ctx)
			return Estimate{Rows: n}, err
		},
		Next: func(ctx context.Context) (rows [][]Cell, more bool, err error) {
			list, next, err := x.Audit.Walk(ctx, f, before, batchSize)
			if err != nil {
				return nil, false, err
			}
			var ids []int64
			for _, e := range list {
				if e.Actor.Kind == audit.ByUser {
					ids = append(ids, e.Actor.ID)
				}
			}
			names, err := x.Accounts.Names(ctx, ids)
			for _, e := range list {
				name := e.Actor.Name
				if e.Actor.Kind == audit.ByUser {
					name = names[e.Actor.ID]
				}
				rows = append(rows, []Cell{
					Number(e.ID), Time(e.At), Text(e.Actor.Kind), ID(e.Actor.ID), Text(name),
					Text(e.Actor.Session), Text(e.Actor.Client),
					Text(e.Action), Text(e.Subject), ID(e.PartnerID), JSON(e.Before), JSON(e.After),
					ID(e.Actor.ActingFor), ID(e.Actor.SupportVisit),
				})
			}
			before = next
			return rows, next != 0, err
		},
	}
}
