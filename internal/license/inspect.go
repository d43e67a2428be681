package license

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Link is a purchase in the chain of a license, with its refund.
type Link struct {
	Seq        int
	Tier       int
	Sale       Sale   // without its licenses
	Refund     Refund // the refund that closed it, without its licenses; ID 0: it is open
	Refundable bool   // no later link is open
	Stands     bool   // it is not refunded, and the money kept covers it
	Amount     int64  // the license's part of the price, in the smallest unit
	Credit     int64  // money of earlier purchases that reduced its price
}

// Open reports whether the link is not refunded.
func (k Link) Open() bool { return k.Refund.ID == 0 }

// Detail is a license with its chain, read at one time.
type Detail struct {
	License
	Links   []Link   // oldest first
	Refunds []Refund // newest first, including reversed ones
	Version string   // for IfUnchanged
}

// Refunded reports whether no purchase of the license is open.
func (d Detail) Refunded() bool {
	return !slices.ContainsFunc(d.Links, Link.Open)
}

// Inspect returns a license with its chain.
func (r *Store) Inspect(ctx context.Context, key string) (Detail, error) {
	var d Detail
	err := r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		if !keyForm.MatchString(key) {
			return errUnknown()
		}
		l, err := sqldb.One(ctx, tx, scan, `SELECT `+columns+` FROM licenses WHERE license_key = $1`, key)
		if errors.Is(err, sqldb.ErrNone) {
			return errUnknown()
		}
		if err != nil {
			return fmt.Errorf("inspect a license: %w", err)
		}
		list, err := details(ctx, tx, []License{l})
		if err == nil {
			d = list[0]
		}
		return err
	})
	return d, err
}

// linkRow is a link with the id of its license.
type linkRow struct {
	licenseID int64
	refundID  int64
	currency  string
	Link
}

func scanLinkRow(r *sqldb.Row, k *linkRow) error {
	s := &k.Sale
	return r.Scan(
		&k.licenseID,
		&k.Seq,
		&k.Tier,
		&k.refundID,
		&s.ID,
		&s.PartnerID,
		(*int)(&s.Kind),
		&s.ExternalID,
		&s.Tier,
		&s.Quantity,
		&s.AmountCents,
		&s.Currency,
		&s.UserID,
		&s.CreatedAt,
		&s.SoldAt,
		&s.Hundredths,
		&k.Amount,
		&k.Credit,
		&k.currency,
	)
}

// refundRow is a refund with the id of a license that it closed links of.
type refundRow struct {
	licenseID int64
	Refund
}

func scanRefundRow(r *sqldb.Row, f *refundRow) error {
	return r.Scan(&f.licenseID, &f.ID, &f.PartnerID, &f.ExternalID, &f.Reason, &f.CreatedAt, &f.ReversedAt)
}

// details reads the chains of licenses, always with two queries.
func details(ctx context.Context, tx *sqldb.Tx, list []License) ([]Detail, error) {
	ids := make([]int64, len(list))
	at := map[int64]int{}
	out := make([]Detail, len(list))
	for i, l := range list {
		ids[i] = l.ID
		at[l.ID] = i
		out[i].License = l
	}
	refunds, err := sqldb.All(
		ctx,
		tx,
		scanRefundRow,
		`SELECT DISTINCT i.license_id, f.id, f.partner_id, f.external_id, f.reason, f.created_at, f.reversed_at
		FROM refund_items AS i JOIN refunds AS f ON f.id = i.refund_id WHERE i.license_id = ANY($1) ORDER BY f.id DESC`,
		ids,
	)
	if err != nil {
		return nil, fmt.Errorf("read the refunds of licenses: %w", err)
	}
	byID := map[int64]Refund{}
	for _, f := range refunds {
		byID[f.ID] = f.Refund
		d := &out[at[f.licenseID]]
		d.Refunds = append(d.Refunds, f.Refund)
	}
	links, err := sqldb.All(
		ctx, tx, scanLinkRow,
		`SELECT k.license_id, k.seq, k.tier, k.refund_id, p.id, p.partner_id, p.kind, p.external_id, p.tier,
			p.quantity, p.amount_cents, p.currency, p.user_id, p.created_at, p.sold_at, p.id <= `+lastOldAmount+`,
			`+linkMoney+`
		FROM purchase_links AS k JOIN purchases AS p ON p.id = k.purchase_id WHERE k.license_id = ANY($1)
		ORDER BY k.license_id, k.seq`,
		ids,
	)
	if err != nil {
		return nil, fmt.Errorf("read the purchases of licenses: %w", err)
	}
	chains := map[int64][]link{}
	for _, k := range links {
		k.Refund = byID[k.refundID]
		d := &out[at[k.licenseID]]
		d.Links = append(d.Links, k.Link)
		chains[k.licenseID] = append(chains[k.licenseID], link{
			seq: k.Seq, purchaseID: k.Sale.ID, tier: k.Tier, refundID: k.refundID, amount: k.Amount,
			credit: k.Credit, currency: k.currency,
		})
	}
	for i := range out {
		d := &out[i]
		chain := chains[d.ID]
		d.Version = version(d.License, chain)
		for n := range d.Links {
			d.Links[n].Refundable = d.Links[n].Open() && !laterOpen(chain, n)
			d.Links[n].Stands = stands(chain, n)
		}
	}
	return out, nil
}

// SaleDetail is a purchase with its licenses in their current state, each with its chain.
type SaleDetail struct {
	Sale
	Items []Detail
}

// Sale returns a purchase or plan change with its licenses.
func (r *Store) Sale(ctx context.Context, id int64) (SaleDetail, error) {
	var d SaleDetail
	err := r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		var err error
		if d.Sale, err = r.sale(ctx, tx, id); err != nil {
			return err
		}
		list, err := sqldb.All(ctx, tx, scan, `SELECT `+columns+` FROM licenses
			WHERE id IN (SELECT license_id FROM purchase_links WHERE purchase_id = $1) ORDER BY ord`, id)
		if err != nil {
			return fmt.Errorf("read the licenses of purchase %d: %w", id, err)
		}
		d.Licenses = list
		d.Items, err = details(ctx, tx, list)
		return err
	})
	return d, err
}

func (r *Store) sale(ctx context.Context, from sqldb.Reader, id int64) (Sale, error) {
	s, err := sqldb.One(ctx, from, scanSale, `SELECT `+saleColumns+` FROM purchases WHERE id = $1`, id)
	if errors.Is(err, sqldb.ErrNone) {
		return Sale{}, fault.New(fault.Missing, CodeUnknownPurchase, "There is no purchase %d. Check its number; "+
			"the list of purchases has all of them.", id).
			On("purchase_id")
	}
	if err != nil {
		return Sale{}, fmt.Errorf("find purchase %d: %w", id, err)
	}
	return s, nil
}

// RefundDetail is a refund with its licenses in their current state, each with its chain.
type RefundDetail struct {
	Refund
	Items  []Detail
	Closed []Link // the links that it closed, also after it was reversed
}

// RefundByID returns a refund with its licenses.
func (r *Store) RefundByID(ctx context.Context, id int64) (RefundDetail, error) {
	var d RefundDetail
	err := r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		var err error
		d.Refund, err = sqldb.One(ctx, tx, scanRefund, `SELECT `+refundColumns+` FROM refunds WHERE id = $1`, id)
		switch {
		case errors.Is(err, sqldb.ErrNone):
			return errUnknownRefund(id)
		case err != nil:
			return fmt.Errorf("find refund %d: %w", id, err)
		}
		if d.Licenses, err = refundedLicenses(ctx, tx, id); err != nil {
			return err
		}
		if d.Items, err = details(ctx, tx, d.Licenses); err != nil {
			return err
		}
		d.Closed, err = closedBy(ctx, tx, id, d.Items)
		return err
	})
	return d, err
}

// closedBy returns the links that a refund of these licenses closed.
func closedBy(ctx context.Context, tx *sqldb.Tx, id int64, items []Detail) ([]Link, error) {
	type row struct {
		license int64
		seq     int
	}
	list, err := sqldb.All(
		ctx,
		tx,
		func(r *sqldb.Row, v *row) error { return r.Scan(&v.license, &v.seq) },
		`SELECT license_id, seq FROM refund_items WHERE refund_id = $1`,
		id,
	)
	if err != nil {
		return nil, fmt.Errorf("read what refund %d closed: %w", id, err)
	}
	var closed []Link
	for _, d := range items {
		for _, k := range d.Links {
			if slices.Contains(list, row{d.ID, k.Seq}) {
				closed = append(closed, k)
			}
		}
	}
	return closed, nil
}

func errUnknownRefund(id int64) error {
	return fault.New(fault.Missing, CodeUnknownRefund, "There is no refund %d.", id)
}
