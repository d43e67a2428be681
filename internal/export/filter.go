package export

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/wire"
)

// parameters contains the filters of the marketplace's lists, by their names in the operator API.
var parameters = map[Kind][]string{
	Licenses:  {"partner_id", "license_key", "email", "external_id", "status", "tier", "from", "to"},
	Purchases: {"partner_id", "external_id", "email", "from", "to"},
	Orders:    {"partner_id", "state", "email", "from", "to"},
	Events:    {"partner_id", "license_key", "event", "from", "to"},
	Audit:     {"partner_id", "subject", "action", "actor", "from", "to"},
	Ledger:    {"partner_id", "kind", "from", "to"},
	Revenue:   {"partner_id", "from", "to"},
}

// Parameters returns the filters of one of OperatorKinds; nil for any other kind.
func Parameters(k Kind) []string { return parameters[k] }

// UnknownKind returns the fault for a list that cannot be exported; kinds are those that can.
func UnknownKind(kinds []Kind) error {
	list := string(kinds[0])
	for _, k := range kinds[1:] {
		list += ", " + string(k)
	}
	return fault.New(fault.Missing, codeUnknownExport, "There is no such export. There are: %s.", list)
}

// OperatorTable returns a list of the marketplace, narrowed by the parameters of a query.
func (x *Exporter) OperatorTable(ctx context.Context, k Kind, q url.Values) (Table, error) {
	switch k {
	case Licenses:
		f, err := x.LicenseFilter(ctx, q)
		return x.OperatorLicenses(f), err
	case Purchases:
		f, err := x.saleFilter(ctx, q)
		return x.OperatorPurchases(f), err
	case Orders:
		f, err := x.orderFilter(ctx, q)
		return x.OperatorOrders(f), err
	case Events:
		w, err := x.eventWalk(ctx, q)
		return x.OperatorEvents(w), err
	case Audit:
		f, err := auditFilter(q)
		return x.OperatorAudit(f), err
	case Ledger:
		f, err := ledgerFilter(q)
		return x.OperatorLedger(f), err
	case Revenue:
		w, err := RevenueWalk(q)
		return x.OperatorRevenue(w), err
	case Deliveries, Requests:
	}
	return Table{}, UnknownKind(OperatorKinds)
}

// parseSpan parses the parameters of every list: the partner and the span of time.
func parseSpan(q url.Values, partnerID *int64, from, to *time.Time) (err error) {
	if s := q.Get("partner_id"); s != "" {
		if *partnerID, err = strconv.ParseInt(s, 10, 64); err != nil || *partnerID < 1 {
			return fault.Parameter("partner_id", "must be the id of a partner.")
		}
	}
	for _, bound := range []struct {
		name string
		to   *time.Time
	}{{"from", from}, {"to", to}} {
		if s := q.Get(bound.name); s != "" {
			at, err := wire.ParseTime(s)
			if err != nil || at.Year() < 1970 || at.Year() > 2200 {
				return fault.Parameter(
					bound.name,
					"must be an RFC 3339 time such as 2026-11-15T09:30:00Z; the plus sign of an offset is written "+
						"%%2B.",
				)
			}
			*bound.to = at
		}
	}
	return nil
}

// nobody is an id without a user: a filter by an unknown person matches nothing.
const nobody = -1

// LicenseFilter parses a query for licenses of the marketplace.
func (x *Exporter) LicenseFilter(ctx context.Context, q url.Values) (license.FindAny, error) {
	f := license.FindAny{Find: license.Find{Key: q.Get("license_key")}, ExternalID: q.Get("external_id")}
	err := parseSpan(q, &f.PartnerID, &f.From, &f.To)
	if err != nil {
		return f, err
	}
	if f.Key != "" && !license.IsKey(f.Key) {
		return f, fault.Parameter("license_key", "must be a license key, or the last 4 characters of one or more.")
	}
	if f.Status, err = event.ParseStatus(q.Get("status")); err != nil {
		return f, err
	}
	if s := q.Get("tier"); s != "" {
		if f.Tier, err = strconv.Atoi(s); err != nil || f.Tier < 1 {
			return f, fault.Parameter("tier", "must be a whole number from 1.")
		}
	}
	f.Owners, err = x.people(ctx, q)
	return f, err
}

func (x *Exporter) saleFilter(ctx context.Context, q url.Values) (license.FindSales, error) {
	f := license.FindSales{ExternalID: q.Get("external_id")}
	err := parseSpan(q, &f.PartnerID, &f.From, &f.To)
	if err != nil {
		return f, err
	}
	f.Users, err = x.people(ctx, q)
	return f, err
}

// people returns the ids of the users with the email in the query, nil if it has none.
func (x *Exporter) people(ctx context.Context, q url.Values) ([]int64, error) {
	email := q.Get("email")
	if email == "" {
		return nil, nil
	}
	ids, err := x.Accounts.FindAll(ctx, email)
	if len(ids) == 0 {
		ids = []int64{nobody}
	}
	return ids, err
}

func (x *Exporter) eventWalk(ctx context.Context, q url.Values) (event.Walk, error) {
	var w event.Walk
	err := parseSpan(q, &w.PartnerID, &w.From, &w.To)
	if err != nil {
		return w, err
	}
	if w.Kind, err = event.ParseKind(q.Get("event")); err != nil {
		return w, err
	}
	if key := q.Get("license_key"); key != "" {
		l, err := x.Licenses.ByKey(ctx, key)
		switch {
		case fault.Is(err, license.CodeUnknownLicense):
			w.LicenseID = nobody
		case err != nil:
			return w, fmt.Errorf("look up a license: %w", err)
		default:
			w.LicenseID = l.ID
		}
	}
	return w, nil
}

func auditFilter(q url.Values) (audit.Filter, error) {
	f := audit.Filter{Subject: q.Get("subject"), Action: q.Get("action")}
	if err := parseSpan(q, &f.PartnerID, &f.From, &f.To); err != nil {
		return f, err
	}
	if s := q.Get("actor"); s != "" {
		var ok bool
		if f.ActorKind, f.ActorID, ok = audit.ParseActor(s); !ok {
			return f, fault.Parameter(
				"actor",
				"must be token, user or partner, each with or without an id such as user:3, or system.",
			)
		}
	}
	return f, nil
}
