package operator

import (
	"net/http"
	"net/url"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/revenue"
	"claviger/internal/wire"
)

// The limits of an answer with revenue.
const (
	defaultRevenueDays = 30
	maxRevenueRows     = 5000
)

// revenueJSON is revenue by day, partner or plan, on the wire.
type revenueJSON struct {
	From      string           `json:"from"` // the first day
	To        string           `json:"to"`   // the last day
	Size      int              `json:"size"`
	Items     []revenueRowJSON `json:"items"`
	More      bool             `json:"more"`
	Total     []revenueRowJSON `json:"total"`
	CountedTo wire.Time        `json:"counted_to,omitzero"`
}

// revenueRowJSON is the sums of one currency, on the wire.
type revenueRowJSON struct {
	Day            string `json:"day,omitempty"`
	PartnerID      int64  `json:"partner_id,omitempty"`
	Tier           int    `json:"tier,omitempty"`
	Currency       string `json:"currency"`
	Sales          int64  `json:"sales"`
	Revenue        int64  `json:"revenue"`
	Direct         int64  `json:"collected_by_partner"`
	Refunds        int64  `json:"refunds"`
	Fees           int64  `json:"fees"`
	Net            int64  `json:"net"`
	PartnerFees    int64  `json:"partner_fees"`
	PartnerNet     int64  `json:"partner_net"`
	Undivided      int64  `json:"undivided"`
	MarketplaceNet int64  `json:"marketplace_net"`
}

func revenueRowOf(r revenue.Row) revenueRowJSON {
	out := revenueRowJSON{
		PartnerID: r.PartnerID, Tier: r.Tier, Currency: r.Currency, Sales: r.Sales, Revenue: r.Revenue,
		Direct: r.Direct, Refunds: r.Refunds, Fees: r.Fees, Net: r.Net(), PartnerFees: r.Borne,
		PartnerNet: r.Earned(), Undivided: r.Undivided, MarketplaceNet: r.Kept(),
	}
	if !r.Day.IsZero() {
		out.Day = r.Day.Format(time.DateOnly)
	}
	return out
}

// revenue answers with the money of a span of days.
func (o *Operator) revenue(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "from", "to", "partner_id", "by")
	if err != nil {
		return err
	}
	query, err := o.revenueQuery(r, q)
	if err != nil {
		return err
	}
	found, err := o.Service.Revenue.Read(r.Context(), query)
	if err != nil {
		return err
	}
	total := revenue.Totals(found.Rows)
	more := len(found.Rows) > maxRevenueRows
	rows := found.Rows[:min(len(found.Rows), maxRevenueRows)]
	answer := revenueJSON{
		From: query.First.Format(time.DateOnly), To: query.Last.Format(time.DateOnly), Size: len(rows), More: more,
		Items: make([]revenueRowJSON, len(rows)), Total: make([]revenueRowJSON, len(total)),
		CountedTo: wire.Time(found.CountedTo),
	}
	for i, row := range rows {
		answer.Items[i] = revenueRowOf(row)
	}
	for i, row := range total {
		answer.Total[i] = revenueRowOf(row)
	}
	return wire.JSON(w, http.StatusOK, answer)
}

// revenueQuery parses the query: days that begin in the span, by default the last ones.
func (o *Operator) revenueQuery(r *http.Request, q url.Values) (out revenue.Query, err error) {
	switch q.Get("by") {
	case "", "day":
		out.By = revenue.ByDay
	case "partner":
		out.By = revenue.ByPartner
	case "plan":
		out.By = revenue.ByPlan
	default:
		return out, fault.Parameter("by", "must be day, partner or plan.")
	}
	from, to, err := timesOf(q)
	if err != nil {
		return out, err
	}
	if to.IsZero() {
		to = o.Service.Revenue.Now()
	}
	if from.IsZero() {
		from = to.AddDate(0, 0, -defaultRevenueDays)
	}
	out.First, out.Last = revenue.Between(from, to)
	if days := out.Last.Sub(out.First)/(24*time.Hour) + 1; days < 1 || days > revenue.MaxDays {
		return out, fault.Parameter(
			"from", "must be 1 to %d days before to, which is now if it is missing.", revenue.MaxDays,
		)
	}
	if out.PartnerID, err = naturalParam(q, "partner_id", 1); err != nil || out.PartnerID == 0 {
		return out, err
	}
	_, err = o.Partners.Get(r.Context(), out.PartnerID)
	if fault.Is(err, partner.CodeUnknownPartner) {
		return out, fault.Parameter("partner_id", "is not the id of a partner; list the partners to see their ids.")
	}
	return out, err
}
