package export

import (
	"context"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/requestlog"
	"claviger/internal/webhook/history"
)

// PartnerLicenses returns the list of a partner's licenses, for the partner.
func (x *Exporter) PartnerLicenses(partnerID int64, f license.Find) Table {
	before := int64(0)
	return Table{
		Kind: Licenses, PartnerID: partnerID,
		Columns: []string{"license_key", "status", "tier", "created_at", "updated_at"},
		About: func(ctx context.Context) (Estimate, error) {
			return x.aboutLicenses(ctx, license.FindAny{Find: f, PartnerID: partnerID})
		},
		Next: func(ctx context.Context) (rows [][]Cell, more bool, err error) {
			found, err := x.Licenses.Find(ctx, partnerID, f, before, batchSize)
			for _, l := range found.Licenses {
				rows = append(
					rows,
					[]Cell{Text(l.Key), Text(l.Status.String()), Number(l.Tier), Time(l.CreatedAt), Time(l.UpdatedAt)},
				)
			}
			before = found.Next
			return rows, before != 0, err
		},
	}
}

// aboutLicenses returns the number of matching licenses, if a counter has it.
func (x *Exporter) aboutLicenses(ctx context.Context, f license.FindAny) (Estimate, error) {
	status := f.Status
	f.Status = 0
	if !f.OfPartner() {
		return Unknown, nil
	}
	n, err := x.Licenses.Counted(ctx, f.PartnerID, status)
	return Estimate{Rows: n}, err
}

// maxCounted is the limit up to which rows without a counter are counted.
const maxCounted = 10_000

// PartnerDeliveries returns the list of the deliveries to a partner.
func (x *Exporter) PartnerDeliveries(partnerID int64, f history.Filter) Table {
	var after history.Key
	return Table{
		Kind: Deliveries, PartnerID: partnerID,
		Columns: []string{
			"event_id", "license_key", "event", "state", "status_code", "cause", "attempts", "duration_ms",
			"created_at", "last_attempt_at", "next_attempt_at",
		},
		About: func(ctx context.Context) (Estimate, error) {
			n, more, err := x.History.Count(ctx, partnerID, f, maxCounted)
			return Estimate{Rows: int64(n), More: more}, err
		},
		Next: func(ctx context.Context) (rows [][]Cell, more bool, err error) {
			list, err := x.History.List(ctx, partnerID, f, after, batchSize)
			for _, d := range list.Deliveries {
				rows = append(rows, deliveryCells(d))
			}
			after = list.Next
			return rows, !after.IsZero(), err
		},
	}
}

func deliveryCells(d history.Delivery) []Cell {
	status := Cell{}
	took := Cell{}
	if d.Last.ID != 0 {
		status, took = Number(d.Last.Status), Number(d.Last.Took.Milliseconds())
	}
	return []Cell{
		Number(d.EventID), Text(d.LicenseKey), Text(event.Kind(d.Kind).String()), Text(string(d.State)), status,
		Text(d.Last.Words()),
		Number(d.Attempts), took, Time(d.CreatedAt), Time(d.Last.At), Time(d.NextAt),
	}
}

// PartnerRequests returns the list of a partner's refused calls. A call that is added to a group
// moves the group to the front, so all of them are read in one batch: none is missed.
func (x *Exporter) PartnerRequests(partnerID int64, f requestlog.Filter) Table {
	f.Limit = requestlog.MaxEntries
	f.After = requestlog.Position{}
	return Table{
		Kind: Requests, PartnerID: partnerID,
		Columns: []string{
			"at", "first_at", "count", "grouped", "authenticated", "method", "path", "status", "code", "cause",
			"message", "request_id", "license_key",
		},
		About: func(context.Context) (Estimate, error) { return Unknown, nil },
		Next: func(ctx context.Context) (rows [][]Cell, more bool, err error) {
			list, err := x.Requests.List(ctx, partnerID, f)
			for _, e := range list.Entries {
				rows = append(rows, []Cell{
					Time(e.At), Time(e.FirstAt), Number(e.Count), Bool(e.Grouped), Bool(e.Proven),
					Text(e.Method), Text(e.Path), Number(e.Status),
					Text(e.Code), Text(e.Cause), Text(e.Message), Text(e.RequestID), Text(e.License),
				})
			}
			f.After = list.Next
			return rows, f.After != requestlog.Position{}, err
		},
	}
}

// PartnerAudit returns the changes to a partner, in sentences for its people. It contains no buyer
// and no text of operators.
func (x *Exporter) PartnerAudit(partnerID int64, span audit.Span) Table {
	span.Limit = batchSize
	return Table{
		Kind: Audit, PartnerID: partnerID,
		Columns: []string{"id", "at", "actor", "actor_name", "action", "text"},
		About:   func(context.Context) (Estimate, error) { return Unknown, nil },
		Next: func(ctx context.Context) (rows [][]Cell, more bool, err error) {
			list, more, err := x.Audit.History(ctx, partnerID, span)
			if err != nil {
				return nil, false, err
			}
			names, err := x.Accounts.Names(ctx, audit.People(list))
			for _, e := range list {
				rows = append(rows, []Cell{
					Number(e.ID), Time(e.At), Text(string(e.Origin())), Text(names[e.Member()]), Text(e.Action),
					Text(e.Sentence(names)),
				})
				span.Before = e.ID
			}
			return rows, more, err
		},
	}
}
