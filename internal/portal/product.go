package portal

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"claviger/internal/area"
	"claviger/internal/ui"
)

const (
	productPath     = "/product"
	plansPath       = productPath + "/plans"
	productPlanPath = plansPath + "/{tier}"
)

// planTexts changes the texts for buyers of the path's plan. The marketplace sets its name and
// price.
func (h *Handler) planTexts(r *http.Request, v *Visit) (area.Action, error) {
	plan, err := h.Partners.Plan(r.Context(), v.Partner.ID, int(id(r, "tier")))
	if err != nil {
		return area.Action{}, missing(err)
	}
	call := h.call("The same by API", http.MethodPatch, "/v2/plans/"+strconv.Itoa(plan.Tier))
	call.JSON = `{"features":["Ten seats"],"recommended":true}`
	return area.Action{
		Ask: ui.Confirm{
			Heading: "What buyers read about “" + plan.DisplayName() + "”",
			Says:    []string{"Its name and its price are set by the marketplace."},
			Form:    ui.Form{Fields: area.PlanTextFields(plan)}, Cancel: v.Path(productPath),
			Button: ui.Button{Label: "Save", Busy: "Saving…"}, Call: &call,
		},
		Seen: area.Seen{Version: plan.UpdatedAt.Format(time.RFC3339Nano), Facts: area.PlanTextFacts(plan)},
		Do: func(ctx context.Context) (string, error) {
			texts, err := area.ReadPlanTexts(r)
			if err == nil {
				_, err = h.Partners.DescribePlan(ctx, v.Actor(), v.Partner.ID, plan.Tier, texts)
			}
			return "Saved. Buyers see it from now on.", err
		},
	}, nil
}
