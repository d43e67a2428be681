package partner

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Limits of a plan's texts.
const (
	MaxPlanDescription = 500 // characters
	MaxFeatures        = 20
	MaxFeature         = 100 // characters
	MaxSort            = 1_000_000
)

// PlanTexts are the texts about a plan besides its name and price, and its limit per buyer; nil
// leaves a field unchanged. They are separate because people write them, while a program may set
// prices.
type PlanTexts struct {
	Description *string
	Features    *[]string
	Recommended *bool
	Sort        *int
	MaxPerBuyer *BuyerLimit
}

// texts returns all texts of the plan.
func (p Plan) texts() PlanTexts {
	return PlanTexts{
		Description: &p.Description,
		Features:    &p.Features,
		Recommended: &p.Recommended,
		Sort:        &p.Sort,
		MaxPerBuyer: &p.MaxPerBuyer,
	}
}

// on returns the plan with the texts that are not nil.
func (t PlanTexts) on(p Plan) Plan {
	if t.Description != nil {
		p.Description = *t.Description
	}
	if t.Features != nil {
		p.Features = *t.Features
	}
	if t.Recommended != nil {
		p.Recommended = *t.Recommended
	}
	if t.Sort != nil {
		p.Sort = *t.Sort
	}
	if t.MaxPerBuyer != nil {
		p.MaxPerBuyer = *t.MaxPerBuyer
	}
	return p
}

// keeping returns the plan with the texts of before where t has none.
func (t PlanTexts) keeping(p, before Plan) Plan {
	if t.Description == nil {
		p.Description = before.Description
	}
	if t.Features == nil {
		p.Features = before.Features
	}
	if t.Recommended == nil {
		p.Recommended = before.Recommended
	}
	if t.Sort == nil {
		p.Sort = before.Sort
	}
	if t.MaxPerBuyer == nil {
		p.MaxPerBuyer = before.MaxPerBuyer
	}
	return p
}

// DescribePlan changes the texts about a plan, but neither its name nor its price.
func (r *Store) DescribePlan(
	ctx context.Context,
	by audit.Actor,
	partnerID int64,
	tier int,
	t PlanTexts,
) (Plan, error) {
	if _, err := t.on(Plan{}).checkedTexts(); err != nil {
		return Plan{}, err
	}
	var plan Plan
	err := r.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if _, err := lock(ctx, tx, partnerID); err != nil {
			return err
		}
		known := queuePartner(tx, partnerID)
		before, err := QueuePlan(tx, partnerID, tier).One(ctx)
		if err := planError(ctx, known, err); err != nil {
			return err
		}
		after, err := t.on(before).checkedTexts()
		if err != nil {
			return err
		}
		plan, err = r.updatePlan(ctx, tx, by, partnerID, before, after)
		return err
	})
	if err != nil {
		return Plan{}, fmt.Errorf("describe a plan: %w", err)
	}
	return plan, nil
}

// recommendOnly removes the recommendation of other plans, if p is recommended.
func (r *Store) recommendOnly(
	ctx context.Context,
	tx *sqldb.Tx,
	by audit.Actor,
	partnerID int64,
	p Plan,
	now time.Time,
) error {
	if !p.Recommended {
		return nil
	}
	others, err := sqldb.All(ctx, tx, scanPlan, `UPDATE plans SET recommended = $3, updated_at = $4
		WHERE partner_id = $1 AND tier <> $2 AND recommended RETURNING `+planColumns, partnerID, p.Tier, false, now)
	if err != nil {
		return fmt.Errorf("recommend no other plan: %w", err)
	}
	for _, o := range others {
		before := o
		before.Recommended = true
		audit.Record(tx, now, by, "plan.update", planSubject(partnerID, o.Tier), before.facts(), o.facts())
	}
	return nil
}

// checkedTexts validates the plan's texts and returns the plan with their stored form.
func (p Plan) checkedTexts() (Plan, error) {
	var err error
	if p.Description, err = validate.Text("description", p.Description, MaxPlanDescription); err != nil {
		return p, err
	}
	if len(p.Features) > MaxFeatures {
		return p, fault.Field("features", "has %d entries; send at most %d.", len(p.Features), MaxFeatures)
	}
	features := make([]string, len(p.Features))
	for i, f := range p.Features {
		if features[i], err = validate.Name("features", f, 1, MaxFeature); err != nil {
			return p, err
		}
	}
	p.Features = features
	if len(features) == 0 {
		p.Features = nil
	}
	if p.Sort < -MaxSort || p.Sort > MaxSort {
		return p, fault.Field("sort", "must be a whole number from %d to %d.", -MaxSort, MaxSort)
	}
	return p, p.MaxPerBuyer.check()
}

// addTexts adds the texts that are set: most plans and older entries have none.
func (p Plan) addTexts(f audit.Facts) {
	if p.Description != "" {
		f["description"] = p.Description
	}
	if len(p.Features) > 0 {
		f["features"] = p.Features
	}
	if p.Recommended {
		f["recommended"] = true
	}
	if p.Sort != 0 {
		f["sort"] = p.Sort
	}
	if p.MaxPerBuyer.Set {
		f["max_per_buyer"] = p.MaxPerBuyer.Max
	}
}

// same reports whether two plans have the same facts.
func (p Plan) same(o Plan) bool { return reflect.DeepEqual(p, o) }

// joinFeatures joins features for storage, one per line: none contains a line break.
func joinFeatures(list []string) string { return strings.Join(list, "\n") }

func splitFeatures(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
