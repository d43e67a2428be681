package shop

import (
	"net/http"
	"strconv"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/visitor"
)

// receiptPath returns the page of a purchase's receipt.
func receiptPath(id int64) string { return "/receipts/" + strconv.FormatInt(id, 10) }

// receiptRows returns the purchases of a license as the buyer sees them. Without a known payer
// there is no receipt to open.
func (s *Shop) receiptRows(o ownedView, list []license.Receipt) ui.Receipt {
	b := ui.Receipt{Caption: "Receipts"}
	for _, c := range list {
		row := ui.ReceiptRow{
			At:       c.At,
			What:     itemOf(c, o.plans[c.Tier]),
			Number:   strconv.FormatInt(c.ID, 10),
			Status:   paidOrRefunded(c),
			Cents:    c.AmountCents,
			Currency: c.Currency,
			Old:      c.Hundredths,
		}
		if c.BuyerID != 0 {
			row.Link = receiptPath(c.ID)
		}
		b.Rows = append(b.Rows, row)
	}
	return b
}

// itemOf describes the purchase in a few words.
func itemOf(c license.Receipt, plan partner.Plan) string {
	plan.Tier = c.Tier
	switch {
	case c.Kind == license.PlanUpgrade:
		return "Change to " + plan.DisplayName()
	case c.Quantity > 1:
		return plan.DisplayName() + ", one of " + strconv.Itoa(c.Quantity) + " licenses"
	default:
		return plan.DisplayName()
	}
}

func paidOrRefunded(c license.Receipt) string {
	switch {
	case c.Refunded:
		return "refunded"
	case c.Partly:
		return "partly_refunded"
	case c.AmountCents == 0:
		return "free"
	default:
		return "paid"
	}
}

// receiptView is the receipt of a purchase.
type receiptView struct {
	license.Receipt
	Status  string
	Partner partner.Partner
	Plan    partner.Plan
	Email   string // the buyer's
	Name    string
	Back    string // the bought license, or the list of licenses

	RefundDay string // the last day to ask for the money back; "": none is ahead
}

// Changed reports whether the purchase was a plan change.
func (v receiptView) Changed() bool { return v.Kind == license.PlanUpgrade }

func (s *Shop) receipt(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return errNoReceipt()
	}
	c, err := s.Licenses.ReceiptOf(r.Context(), id, v.User.ID)
	if fault.Is(err, license.CodeUnknownPurchase) {
		return errNoReceipt()
	}
	if err != nil {
		return err
	}
	p, err := s.Partners.Get(r.Context(), c.PartnerID)
	if err != nil {
		return err
	}
	plan, err := s.Partners.Plan(r.Context(), p.ID, c.Tier)
	if fault.Is(err, partner.CodeUnknownPlan) {
		plan = partner.Plan{Tier: c.Tier}
		err = nil
	}
	if err != nil {
		return err
	}
	back, err := s.boughtBy(r, v, c)
	if err != nil {
		return err
	}
	day, err := s.refundDay(r, c)
	if err != nil {
		return err
	}
	return s.Site.Render(w, r, v, "receipt", ui.View{Title: "Receipt " + strconv.FormatInt(c.ID, 10), Data: receiptView{
		Receipt: c, Status: paidOrRefunded(c), Partner: p, Plan: plan, Email: v.User.Address(), Name: v.User.Name,
		Back: back, RefundDay: day,
	}})
}

// boughtBy returns the page of the bought license, if it is a single one and still theirs,
// otherwise the list of licenses.
func (s *Shop) boughtBy(r *http.Request, v *visitor.Visitor, c license.Receipt) (string, error) {
	list, err := s.Licenses.OfSale(r.Context(), c.ID)
	if err != nil {
		return "", err
	}
	if len(list) == 1 && list[0].OwnerID == v.User.ID {
		return "/licenses/" + list[0].RedemptionID, nil
	}
	return "/licenses", nil
}

func errNoReceipt() error {
	return fault.New(fault.Missing, codeUnknownReceipt,
		"You have no such receipt. If you paid with another account, sign in with that account.")
}
