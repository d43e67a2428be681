package partner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Limits of a plan. The highest price is far above any real one, and low enough that sums of prices
// do not overflow.
const (
	MaxTier  = 1000
	MaxPrice = 1_000_000_000_000
	maxRef   = 255
)

// Plan is one tier of a partner's product, as offered to buyers.
type Plan struct {
	Tier        int
	Name        string
	PriceCents  int64
	Currency    string // three capital letters; may be empty if the price is 0
	CheckoutURL string // the operator's payment page, if any
	ExternalRef string // the id in the operator's own systems
	CreatedAt   time.Time
	UpdatedAt   time.Time

	Description string
	Features    []string
	Recommended bool // at most one plan of a partner is
	// Recheck is set if the price was entered when amounts of every currency had two digits after
	// the point: the plan is not on sale until it is saved again.
	Recheck bool
	Sort    int // lower numbers come first, then lower tiers

	MaxPerBuyer BuyerLimit
}

// DisplayName returns the name of the plan, or its tier if it has no name.
func (p Plan) DisplayName() string { return cmp.Or(p.Name, "Tier "+strconv.Itoa(p.Tier)) }

const planColumns = `tier, name, price_cents, currency, checkout_url, external_ref, created_at, updated_at,
	description, features, recommended, sort, recheck, max_per_buyer`

func scanPlan(r *sqldb.Row, p *Plan) error {
	var features string
	var limit int
	err := r.Scan(
		&p.Tier,
		&p.Name,
		&p.PriceCents,
		&p.Currency,
		&p.CheckoutURL,
		&p.ExternalRef,
		&p.CreatedAt,
		&p.UpdatedAt,
		&p.Description,
		&features,
		&p.Recommended,
		&p.Sort,
		&p.Recheck,
		&limit,
	)
	p.Features = splitFeatures(features)
	p.MaxPerBuyer = BuyerLimitOf(limit)
	return err
}

// QueuePlan queues the query for the plan of a tier. sqldb.ErrNone means that the
// tier is not sold.
func QueuePlan(tx *sqldb.Tx, partnerID int64, tier int) *sqldb.Result[Plan] {
	return sqldb.QueueQuery(
		tx,
		scanPlan,
		`SELECT `+planColumns+` FROM plans WHERE partner_id = $1 AND tier = $2`,
		partnerID,
		tier,
	)
}

// QueuePlanNames queues the query for the tiers and names of a partner's plans.
func QueuePlanNames(tx *sqldb.Tx, partnerID int64) *sqldb.Result[Plan] {
	return sqldb.QueueQuery(tx, scanPlanName, `SELECT tier, name FROM plans WHERE partner_id = $1`, partnerID)
}

// QueuePlanNamesOf does the same as QueuePlanNames, for tiers from the lowest to the highest.
func QueuePlanNamesOf(tx *sqldb.Tx, partnerID int64, lowest, highest int) *sqldb.Result[Plan] {
	return sqldb.QueueQuery(
		tx,
		scanPlanName,
		`SELECT tier, name FROM plans WHERE partner_id = $1 AND tier >= $2 AND tier <= $3`,
		partnerID,
		lowest,
		highest,
	)
}

func scanPlanName(r *sqldb.Row, p *Plan) error { return r.Scan(&p.Tier, &p.Name) }

// Plan returns the plan of a tier.
func (r *Store) Plan(ctx context.Context, partnerID int64, tier int) (Plan, error) {
	var p Plan
	err := r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		var err error
		known := queuePartner(tx, partnerID)
		p, err = QueuePlan(tx, partnerID, tier).One(ctx)
		return planError(ctx, known, err)
	})
	if err != nil {
		return Plan{}, fmt.Errorf("get a plan: %w", err)
	}
	return p, nil
}

// Plans returns a partner's plans in the order shown to buyers: by Sort, then the lowest tier
// first.
func (r *Store) Plans(ctx context.Context, partnerID int64) ([]Plan, error) {
	var list []Plan
	err := r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		var err error
		known := queuePartner(tx, partnerID)
		list, err = sqldb.All(
			ctx,
			tx,
			scanPlan,
			`SELECT `+planColumns+` FROM plans WHERE partner_id = $1 ORDER BY sort, tier`,
			partnerID,
		)
		return planError(ctx, known, err)
	})
	if err != nil {
		return nil, fmt.Errorf("list plans: %w", err)
	}
	return list, nil
}

// HighestTier returns the highest tier of a partner's plans; 0 if it has none.
func (r *Store) HighestTier(ctx context.Context, partnerID int64) (int, error) {
	tier, err := sqldb.One(
		ctx,
		r.DB,
		sqldb.Value[int64],
		`SELECT coalesce(max(tier), 0) FROM plans WHERE partner_id = $1`,
		partnerID,
	)
	if err != nil {
		return 0, fmt.Errorf("read the highest tier: %w", err)
	}
	return int(tier), nil
}

func queuePartner(tx *sqldb.Tx, id int64) *sqldb.Result[int64] {
	return sqldb.QueueQuery(tx, sqldb.Value[int64], `SELECT id FROM partners WHERE id = $1`, id)
}

// planError returns the fault for a partner that does not exist, or for a plan that it does not
// have.
func planError(ctx context.Context, known *sqldb.Result[int64], err error) error {
	if err != nil && !errors.Is(err, sqldb.ErrNone) {
		return err
	}
	if _, kerr := known.One(ctx); errors.Is(kerr, sqldb.ErrNone) {
		return Unknown()
	} else if kerr != nil {
		return kerr
	}
	if err != nil {
		return unknownPlan()
	}
	return nil
}

func unknownPlan() error {
	return fault.New(
		fault.Missing,
		CodeUnknownPlan,
		"The partner sells no plan of this tier; list its plans to see which it does.",
	)
}

// PutPlan makes or replaces the plan of a tier. An identical plan is not written.
func (r *Store) PutPlan(
	ctx context.Context,
	by audit.Actor,
	partnerID int64,
	p Plan,
) (plan Plan, created bool, err error) {
	return r.PutPlanWith(ctx, by, partnerID, p, p.texts())
}

// PutPlanWith does the same as PutPlan, with other texts than the plan's own; nil texts stay
// unchanged.
func (r *Store) PutPlanWith(
	ctx context.Context,
	by audit.Actor,
	partnerID int64,
	p Plan,
	texts PlanTexts,
) (plan Plan, created bool, err error) {
	if p, err = texts.on(p).checked(); err != nil {
		return Plan{}, false, err
	}
	err = r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		plan, created, err = r.putPlan(ctx, tx, by, partnerID, p, texts)
		return err
	})
	if err != nil {
		return Plan{}, false, fmt.Errorf("put a plan: %w", err)
	}
	return plan, created, nil
}

func (r *Store) putPlan(
	ctx context.Context,
	tx *sqldb.Tx,
	by audit.Actor,
	partnerID int64,
	p Plan,
	texts PlanTexts,
) (Plan, bool, error) {
	if _, err := lock(ctx, tx, partnerID); err != nil {
		return Plan{}, false, err
	}
	now := r.Now()
	p.Recheck = false // the price has been reviewed by saving it
	before, err := QueuePlan(tx, partnerID, p.Tier).One(ctx)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		p.CreatedAt = now
		p.UpdatedAt = now
		if err := r.recommendOnly(ctx, tx, by, partnerID, p, now); err != nil {
			return Plan{}, false, err
		}
		tx.Queue(
			`INSERT INTO plans (partner_id, `+planColumns+
				`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
			partnerID,
			p.Tier,
			p.Name,
			p.PriceCents,
			p.Currency,
			p.CheckoutURL,
			p.ExternalRef,
			now,
			now,
			p.Description,
			joinFeatures(p.Features),
			p.Recommended,
			p.Sort,
			false,
			p.MaxPerBuyer.Number(),
		)
		audit.Record(tx, now, by, "plan.create", planSubject(partnerID, p.Tier), nil, p.facts())
		return p, true, nil
	case err != nil:
		return Plan{}, false, err
	}
	p, err = r.updatePlan(ctx, tx, by, partnerID, before, texts.keeping(p, before))
	return p, false, err
}

// updatePlan writes a plan if it differs from the stored one. The partner is locked.
func (r *Store) updatePlan(
	ctx context.Context,
	tx *sqldb.Tx,
	by audit.Actor,
	partnerID int64,
	before, p Plan,
) (Plan, error) {
	p.CreatedAt = before.CreatedAt
	p.UpdatedAt = before.UpdatedAt
	if p.same(before) {
		return p, nil
	}
	p.UpdatedAt = r.Now()
	if err := r.recommendOnly(ctx, tx, by, partnerID, p, p.UpdatedAt); err != nil {
		return Plan{}, err
	}
	tx.Queue(
		`UPDATE plans SET name = $3, price_cents = $4, currency = $5, checkout_url = $6, external_ref = $7,
			updated_at = $8,
			description = $9, features = $10, recommended = $11, sort = $12, recheck = $13, max_per_buyer = $14
		WHERE partner_id = $1 AND tier = $2`,
		partnerID,
		p.Tier,
		p.Name,
		p.PriceCents,
		p.Currency,
		p.CheckoutURL,
		p.ExternalRef,
		p.UpdatedAt,
		p.Description,
		joinFeatures(p.Features),
		p.Recommended,
		p.Sort,
		p.Recheck,
		p.MaxPerBuyer.Number(),
	)
	audit.Record(tx, p.UpdatedAt, by, "plan.update", planSubject(partnerID, p.Tier), before.facts(), p.facts())
	return p, nil
}

// DeletePlan ends the sale of a tier. Licenses of that tier are not changed.
func (r *Store) DeletePlan(ctx context.Context, by audit.Actor, partnerID int64, tier int) error {
	err := r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := lock(ctx, tx, partnerID); err != nil {
			return err
		}
		before, err := sqldb.One(ctx, tx, scanPlan,
			`DELETE FROM plans WHERE partner_id = $1 AND tier = $2 RETURNING `+planColumns, partnerID, tier)
		if errors.Is(err, sqldb.ErrNone) {
			return unknownPlan()
		}
		if err != nil {
			return err
		}
		audit.Record(tx, r.Now(), by, "plan.delete", planSubject(partnerID, tier), before.facts(), nil)
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete a plan: %w", err)
	}
	return nil
}

// checked validates the plan and returns it in its stored form.
func (p Plan) checked() (Plan, error) {
	var err error
	if p.Tier < 1 || p.Tier > MaxTier {
		return p, fault.Field("tier", "must be a whole number from 1 to %d.", MaxTier)
	}
	if p.Name, err = validate.Name("name", p.Name, 1, maxName); err != nil {
		return p, err
	}
	if p.PriceCents < 0 || p.PriceCents > MaxPrice {
		return p, fault.Field("price_cents", "must be a whole number from 0 to %d.", int64(MaxPrice))
	}
	if p.Currency, err = currency(p.Currency, p.PriceCents > 0); err != nil {
		return p, err
	}
	if p.CheckoutURL != "" {
		// Only a buyer's browser opens it, so any web address is allowed.
		if p.CheckoutURL, err = validate.URL("checkout_url", p.CheckoutURL, true); err != nil {
			return p, err
		}
	}
	if p.ExternalRef, err = validate.Line("external_ref", p.ExternalRef, 0, maxRef); err != nil {
		return p, err
	}
	return p.checkedTexts()
}

// currency checks a currency code and returns it in capitals.
func currency(code string, needed bool) (string, error) {
	if code == "" && !needed {
		return "", nil
	}
	upper := strings.ToUpper(code)
	return upper, validate.Currency("currency", upper)
}

func planSubject(partnerID int64, tier int) string {
	return subject(partnerID) + "/plan:" + strconv.Itoa(tier)
}

func (p Plan) facts() audit.Facts {
	f := audit.Facts{
		"tier": p.Tier, "name": p.Name, "price_cents": p.PriceCents, "currency": p.Currency,
		"checkout_url": p.CheckoutURL, "external_ref": p.ExternalRef,
	}
	p.addTexts(f)
	return f
}
