package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/money"
	"claviger/internal/payment"
	"claviger/internal/secret"
	"claviger/internal/support"
	"claviger/internal/ui"
)

const (
	disputesPath = "/disputes"
	disputePath  = disputesPath + "/{dispute}"
)

func (l *Licenses) disputeTable() []Route {
	rows := slices.Concat(
		[]Route{row(Page, disputePath, account.Read, l.dispute)},
		act(disputePath+"/send", account.Sell, l.sendEvidence),
		act(disputePath+"/evidence", account.Sell, l.editEvidence),
	)
	rows[len(rows)-1].Upload = true // the texts exceed the form of other acts
	return rows
}

// disputesTable lists the open disputes and inquiries.
func (l *Licenses) disputesTable(ctx context.Context, v *Visit) (ui.Table, error) {
	list, err := l.Payments.OpenDisputes(ctx)
	if err != nil {
		return ui.Table{}, err
	}
	var partners []int64
	for _, d := range list {
		partners = append(partners, d.PartnerID)
	}
	names, err := l.Partners.Names(ctx, partners)
	if err != nil {
		return ui.Table{}, err
	}
	t := ui.Table{
		ID: "disputes", Caption: "Open disputes", Cards: true,
		Columns: []ui.Column{
			{Label: "Dispute"},
			{Label: "Application"},
			{Label: "Amount", Number: true},
			{Label: "Answer by", Named: true},
			{Label: "State", Wrap: true},
		},
	}
	now := l.Payments.Now()
	for _, d := range list {
		due := ui.Cell{Text: "–"}
		if !d.DueBy.IsZero() {
			due = ui.Cell{At: d.DueBy, Exact: true}
		}
		t.Rows = append(t.Rows, ui.Row{ID: "dispute-" + d.ID, Cells: []ui.Cell{
			{Text: d.ID, URL: v.Path(disputesPath+"/%s", d.ID)},
			{Text: names[d.PartnerID]},
			{Text: money.Text(d.Amount, d.Currency)},
			due,
			{Text: d.Sentence(now)},
		}})
	}
	return t, nil
}

// disputeView is the page of a dispute.
type disputeView struct {
	support.DisputeCase
	Title   string
	Amount  string
	State   string
	Reason  string
	Buyer   factView
	Partner factView
	License factView
	Order   factView
	Texts   []evidenceText
	Source  string // of the texts
	Failure string // why Stripe refused the last ones
	Closed  string // why they can no longer be changed or sent
	Edit    string // URLs, "" if the person may not
	Send    string
}

// evidenceText is the text of one field.
type evidenceText struct{ Name, Label, Hint, Text string }

// evidenceFields has the label and the hint of each field.
var evidenceFields = map[string]struct {
	label, hint string
	rows        int
}{
	payment.ProductDescription: {"Product", "", 5},
	payment.CustomerEmail:      {"Buyer's email address", "", 1},
	payment.CustomerName:       {"Buyer's name", "", 1},
	payment.ServiceDate:        {"Date of the service", "The day on which the buyer could first use it.", 1},
	payment.ActivityLog:        {"How the license was used", "Times are in UTC.", 14},
	payment.RefundPolicy:       {"Refund terms as shown", "", 6},
	payment.OtherText:          {"Payment, receipts and emails", "", 12},
}

func (l *Licenses) dispute(w http.ResponseWriter, r *http.Request, v *Visit) error {
	c, err := l.Support.Dispute(r.Context(), r.PathValue("dispute"))
	if err != nil {
		return area.Missing(err)
	}
	now := l.Payments.Now()
	view := disputeView{
		DisputeCase: c, Title: "Dispute", Amount: money.Text(c.Amount, c.Currency),
		State: stateOfDispute(&c, now), Reason: cmp.Or(payment.ReasonWords(c.Reason), "not given"),
		Buyer:   factView{"Buyer", ui.Cell{Text: "A person who was erased"}},
		Partner: factView{"Application", ui.Cell{Text: c.Partner.Name, URL: l.partnerURL(v, c.Partner.ID)}},
		Source:  "The service collected these texts just now. Nothing is sent before you press Send.",
	}
	if c.Inquiry() {
		view.Title = "Inquiry"
	}
	if c.Buyer.ID != 0 {
		view.Buyer.Cell = ui.Cell{Text: personName(c.Buyer), URL: v.Path(peoplePath+"/%d", c.Buyer.ID)}
	}
	view.Order.Cell = ui.Cell{Text: c.Checkout.Item, URL: v.Path(ordersPath+"/%s", c.Checkout.Ref)}
	if key := c.License.Key; key != "" {
		view.License = factView{"License", ui.Cell{Text: key, Code: true, URL: v.Path(licensesPath+"/%s", key)}}
	}
	for _, name := range payment.EvidenceFields {
		f := evidenceFields[name]
		view.Texts = append(view.Texts, evidenceText{name, f.label, f.hint, c.Evidence[name]})
	}
	l.evidenceActs(v, &view, now)
	return l.render(w, r, v, "dispute", ui.View{Title: view.Title + " about " + view.Amount, Data: view})
}

// evidenceActs says what can be done with the evidence.
func (l *Licenses) evidenceActs(v *Visit, view *disputeView, now time.Time) {
	if view.Saved.Kept() {
		view.Source = "An operator saved these texts. Nothing is sent before you press Send."
	}
	closed := view.DisputeDetail.Closed(now)
	switch {
	case view.Saved.State == payment.EvidenceAsked:
		view.Source = "These texts are on their way to Stripe. Reload the page to see when it has them."
		if view.Saved.Failure == payment.KeyRefused {
			view.Failure = "Stripe refuses the key. A restricted key needs Write for Disputes. The texts are sent as " +
				"soon as the key allows it."
		}
		return
	case closed != nil:
		view.Source = ""
		view.Closed = fault.Of(closed).Text
		if view.Saved.State == payment.EvidenceSent {
			view.Source = "Stripe has these texts."
		}
		return
	case view.Saved.State == payment.EvidenceRefused:
		view.Failure = refusedWords(view.Saved.Failure)
	}
	if v.May(account.Sell) {
		view.Edit = v.Path(disputesPath+"/%s/evidence", view.ID)
		view.Send = v.Path(disputesPath+"/%s/send", view.ID)
	}
}

// refusedWords explains a refusal of Stripe.
func refusedWords(code string) string {
	return "Stripe did not accept the evidence (" + cmp.Or(code, "no reason given") + "). Edit it and send it again."
}

// stateOfDispute describes the state of a dispute, also of an ended one.
func stateOfDispute(c *support.DisputeCase, now time.Time) string {
	o := payment.OpenDispute{Dispute: c.Dispute, Sending: c.Saved.State == payment.EvidenceAsked}
	if !c.Ended() {
		return o.Sentence(now)
	}
	switch c.Status {
	case "won":
		return "It ended for you, and the hold with it."
	case "lost":
		return "It ended for the buyer: the money went back, and the purchase is refunded."
	case "prevented":
		return "The money went back to the buyer, and the purchase is refunded."
	case "warning_closed":
		return "The inquiry ended without a dispute."
	}
	return "Stripe says: " + c.Status + "."
}

// seenEvidence returns the state of a dispute and its texts that a page showed.
func seenEvidence(c *support.DisputeCase) area.Seen {
	state := c.Status
	if c.Saved.State == payment.EvidenceAsked {
		state += ", evidence on its way"
	}
	all := ""
	for _, name := range payment.EvidenceFields {
		all += c.Evidence[name] + "\x00"
	}
	texts := secret.Hash(all)[:12]
	return area.Seen{
		Version: state + " " + texts,
		Facts:   []area.Fact{{Name: "State", Value: state}, {Name: "Version of the texts", Value: texts}},
	}
}

// collectAgain is the checkbox that discards an operator's texts.
const collectAgain = "collect"

// editEvidence saves the texts of a dispute as an operator edits them.
func (l *Licenses) editEvidence(r *http.Request, v *Visit) (area.Action, error) {
	c, err := l.Support.Dispute(r.Context(), r.PathValue("dispute"))
	if err != nil {
		return area.Action{}, area.Missing(err)
	}
	view := ui.Confirm{
		Heading: "Edit the evidence", Cancel: v.Path(disputesPath+"/%s", c.ID),
		Says: []string{
			"The buyer's bank reads these texts. Stripe accepts 150,000 characters in all fields together. Saving " +
				"sends nothing.",
		},
		Button: ui.Button{Label: "Save the evidence", Busy: "Saving…"},
	}
	for _, name := range payment.EvidenceFields {
		f := evidenceFields[name]
		view.Fields = append(view.Fields, ui.Field{
			Name: name, Label: f.label, Hint: f.hint, Type: "textarea", Rows: f.rows, Value: c.Evidence[name],
		})
	}
	if c.Saved.Kept() {
		view.Fields = append(view.Fields, ui.Field{
			Name: collectAgain, Type: "checkbox", Label: "Replace all texts with what the service has now",
		})
	}
	act := area.Action{Ask: view, Seen: seenSaved(&c), Refused: l.mayEdit(&c)}
	act.Do = func(ctx context.Context) (string, error) {
		if ui.FormText(r, collectAgain) != "" {
			texts, err := l.Support.CollectEvidence(ctx, c)
			if err == nil {
				err = l.Payments.SaveEvidence(ctx, v.Actor(), c.ID, texts)
			}
			return "The texts are collected again. Nothing was sent.", err
		}
		texts := payment.Evidence{}
		for _, name := range payment.EvidenceFields {
			texts[name] = storable(ui.FormText(r, name))
		}
		return "The evidence is saved. It was not sent.", l.Payments.SaveEvidence(ctx, v.Actor(), c.ID, texts)
	}
	return act, nil
}

// seenSaved returns the state of the saved texts. Collected ones may change while they are edited.
func seenSaved(c *support.DisputeCase) area.Seen {
	if c.Saved.Kept() {
		return seenEvidence(c)
	}
	return area.Seen{Version: "none", Facts: []area.Fact{{Name: "Saved texts", Value: "none"}}}
}

// mayEdit returns the reason that the evidence can't be changed now.
func (l *Licenses) mayEdit(c *support.DisputeCase) error {
	if c.Saved.State == payment.EvidenceAsked {
		return payment.ErrSending()
	}
	return c.Closed(l.Payments.Now())
}

// sendEvidence sends the texts on the dispute's page to Stripe.
func (l *Licenses) sendEvidence(r *http.Request, v *Visit) (area.Action, error) {
	c, err := l.Support.Dispute(r.Context(), r.PathValue("dispute"))
	if err != nil {
		return area.Action{}, area.Missing(err)
	}
	view := ui.Confirm{
		Heading: "Send the evidence to Stripe", Cancel: v.Path(disputesPath+"/%s", c.ID),
		Says: []string{
			"Stripe sends the texts of the dispute's page to the buyer's bank, and the bank decides.",
			"This can be done once. Afterwards nothing can be added or changed, here or at Stripe.",
		},
		Button: ui.Button{Label: "Send it", Busy: "Sending…", Kind: "danger"},
	}
	act := area.Action{Ask: view, Seen: seenEvidence(&c), Refused: l.mayEdit(&c)}
	act.Do = func(ctx context.Context) (string, error) {
		return "The evidence is on its way to Stripe. Reload the page to see when it has it.",
			l.Payments.SendEvidence(ctx, v.Actor(), c.ID, c.Evidence)
	}
	return act, nil
}
