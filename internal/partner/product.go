package partner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Limits of a product's texts, in characters.
const (
	MaxTagline     = 100
	MaxDescription = 10_000
	MaxRefundTerms = 1_000
)

// MaxRefundDays is the maximum number of days in which a buyer may ask for the money back.
const MaxRefundDays = 365

// Product has the texts for buyers about a partner's application. Each field may be empty.
type Product struct {
	PartnerID    int64
	Tagline      string // one line, below the name
	Description  string // Markdown
	Website      string
	SupportEmail string // contact for buyers
	RefundTerms  string
	RefundDays   int    // for how many days after a payment its buyer may ask for the money back; 0: none
	Icon         string // the hash of its icon; "": it has none
	UpdatedAt    time.Time
}

// ProductPath returns the path of the page of a partner's product.
func ProductPath(partnerID int64) string { return "/products/" + strconv.FormatInt(partnerID, 10) }

// IconPath returns the path of the icon, "" if there is none. Another icon has another path.
func (p Product) IconPath() string {
	if p.Icon == "" {
		return ""
	}
	return ProductPath(p.PartnerID) + "/icon/" + p.Icon + ".png"
}

const productColumns = `products.partner_id, products.tagline, products.description, products.website,
	products.support_email, products.refund_terms, products.refund_days, products.icon, products.updated_at`

func scanProduct(r *sqldb.Row, p *Product) error {
	return r.Scan(
		&p.PartnerID,
		&p.Tagline,
		&p.Description,
		&p.Website,
		&p.SupportEmail,
		&p.RefundTerms,
		&p.RefundDays,
		&p.Icon,
		&p.UpdatedAt,
	)
}

// Product returns the texts about a partner's application. For an unknown partner they are empty.
func (r *Store) Product(ctx context.Context, partnerID int64) (Product, error) {
	return readProduct(ctx, r.DB, partnerID)
}

func readProduct(ctx context.Context, r sqldb.Reader, partnerID int64) (Product, error) {
	p, err := sqldb.One(ctx, r, scanProduct, `SELECT `+productColumns+` FROM products WHERE partner_id = $1`, partnerID)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return Product{PartnerID: partnerID}, nil
	case err != nil:
		return Product{}, fmt.Errorf("read a product: %w", err)
	}
	return p, nil
}

// ProductChange is a change of a product; nil leaves a field unchanged.
type ProductChange struct {
	Tagline, Description, Website, SupportEmail, RefundTerms *string

	RefundDays *int
	Icon       *[]byte // a picture: PNG, JPEG or WebP; empty: none
}

// ChangeProduct changes the texts and icon of a partner's application. It writes nothing if nothing
// changes.
func (r *Store) ChangeProduct(
	ctx context.Context,
	by audit.Actor,
	partnerID int64,
	c ProductChange,
) (Product, error) {
	if _, err := c.on(Product{}); err != nil {
		return Product{}, err
	}
	var icon Icon
	if c.Icon != nil && len(*c.Icon) > 0 { // before the transaction, because it takes a while
		var err error
		if icon, err = r.readPicture(ctx, partnerID, *c.Icon); err != nil {
			return Product{}, err
		}
	}
	var after Product
	err := r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := lock(ctx, tx, partnerID); err != nil {
			return err
		}
		before, err := readProduct(ctx, tx, partnerID)
		if err != nil {
			return err
		}
		if after, err = c.on(before); err != nil {
			return err
		}
		if c.Icon != nil {
			after.Icon = icon.Hash
		}
		if after == before {
			return nil
		}
		after.UpdatedAt = r.Now()
		storeProduct(tx, after)
		if after.Icon != before.Icon {
			storeIcon(tx, partnerID, icon)
		}
		audit.Record(tx, after.UpdatedAt, by, "partner.product", subject(partnerID), before.facts(), after.facts())
		return nil
	})
	if err != nil {
		return Product{}, fmt.Errorf("change a product: %w", err)
	}
	return after, nil
}

func storeProduct(tx *sqldb.Tx, p Product) {
	tx.Queue(
		`INSERT INTO products (partner_id, tagline, description, website, support_email, refund_terms, icon, updated_at,
			refund_days)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (partner_id)
		DO UPDATE SET tagline = excluded.tagline, description = excluded.description, website = excluded.website,
			support_email = excluded.support_email, refund_terms = excluded.refund_terms, icon = excluded.icon,
			updated_at = excluded.updated_at, refund_days = excluded.refund_days`,
		p.PartnerID,
		p.Tagline,
		p.Description,
		p.Website,
		p.SupportEmail,
		p.RefundTerms,
		p.Icon,
		p.UpdatedAt,
		p.RefundDays,
	)
}

// on returns the product after the change, except for its icon.
func (c ProductChange) on(p Product) (Product, error) {
	var err error
	set := func(to *string, value *string, check func(string) (string, error)) {
		if value != nil && err == nil {
			*to, err = check(*value)
		}
	}
	set(&p.Tagline, c.Tagline, func(s string) (string, error) { return validate.Name("tagline", s, 0, MaxTagline) })
	set(
		&p.Description,
		c.Description,
		func(s string) (string, error) { return validate.Text("description", s, MaxDescription) },
	)
	// Only a buyer's browser opens it, so any web address is allowed.
	set(&p.Website, c.Website, orEmpty(func(s string) (string, error) { return validate.URL("website", s, true) }))
	set(
		&p.SupportEmail,
		c.SupportEmail,
		orEmpty(func(s string) (string, error) { return validate.Email("support_email", s) }),
	)
	set(
		&p.RefundTerms,
		c.RefundTerms,
		func(s string) (string, error) { return validate.Text("refund_terms", s, MaxRefundTerms) },
	)
	if c.RefundDays != nil && err == nil {
		if p.RefundDays = *c.RefundDays; p.RefundDays < 0 || p.RefundDays > MaxRefundDays {
			err = fault.Field("refund_days", "must be a whole number from 0 to %d.", MaxRefundDays)
		}
	}
	return p, err
}

// RefundDays returns for how many days after a payment the buyers of a partner's application may
// ask for their money back.
func RefundDays(ctx context.Context, r sqldb.Reader, partnerID int64) (int, error) {
	p, err := readProduct(ctx, r, partnerID)
	return p.RefundDays, err
}

// QueueRefundDays queues the query of RefundDays. A partner without a product has no row.
func QueueRefundDays(tx *sqldb.Tx, partnerID int64) *sqldb.Result[int] {
	return sqldb.QueueQuery(tx, sqldb.Value[int], `SELECT refund_days FROM products WHERE partner_id = $1`, partnerID)
}

// orEmpty returns a check that also accepts an empty text.
func orEmpty(check func(string) (string, error)) func(string) (string, error) {
	return func(s string) (string, error) {
		if s == "" {
			return "", nil
		}
		return check(s)
	}
}

// facts has the refund days only if there are any: older entries have none.
func (p Product) facts() audit.Facts {
	f := audit.Facts{
		"tagline": p.Tagline, "description": p.Description, "website": p.Website,
		"support_email": p.SupportEmail, "refund_terms": p.RefundTerms, "icon": p.Icon,
	}
	if p.RefundDays != 0 {
		f["refund_days"] = p.RefundDays
	}
	return f
}
