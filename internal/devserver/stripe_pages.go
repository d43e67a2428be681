package devserver

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"claviger/internal/fault"
	"claviger/internal/payment"
	"claviger/internal/payment/fakestripe"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

func (in *standIn) routes() []wire.Route {
	return []wire.Route{
		pageRoute(in.pages, stripePath, in.list),
		formRoute(in.pages, stripePath+"/webhooks", in.switches),
		formRoute(in.pages, stripePath+"/payments/{id}", in.act),
		pageRoute(in.pages, stripePath+"/pay/{id}", in.payPage),
		formRoute(in.pages, stripePath+"/pay/{id}", in.pay),
	}
}

// formRoute returns the route of a form, which other sites cannot post.
func formRoute(pages *ui.Pages, path string, h func(http.ResponseWriter, *http.Request) error) wire.Route {
	guarded := pages.SameOrigin(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, ui.MaxForm)
		err := ui.ReadForm(r)
		if err == nil {
			err = h(w, r)
		}
		if err != nil {
			pages.Fail(w, r, err)
		}
	}))
	rt := wire.Public(http.MethodPost, path, func(w http.ResponseWriter, r *http.Request) error {
		guarded.ServeHTTP(w, r)
		return nil
	})
	rt.Other = pages.WrongMethod
	return rt
}

// paymentView is a payment on its pages.
type paymentView struct {
	ID      string
	Item    string
	Amount  payment.Amount
	At      time.Time
	State   string // see stateOf
	Dispute string // id of the open dispute
	Bank    bool   // the bank has not decided yet
	Paid    bool   // it can be refunded and disputed
	Pay     string // page to pay it, while that is possible
	Return  string // where the buyer continues
	Back    string // where the buyer goes without paying

	units int64 // amount in Stripe's unit
}

// payments returns paid and open payments, newest first.
func (in *standIn) payments() []paymentView {
	intents := map[string]fakestripe.Object{}
	disputes := map[string]fakestripe.Object{}
	for _, o := range in.fake.Objects("pi") {
		intents[o.Text("id")] = o
	}
	for _, o := range in.fake.Objects("dp") { // newest first, and the newest counts
		if pi := o.Text("payment_intent"); disputes[pi] == nil {
			disputes[pi] = o
		}
	}
	var list []paymentView
	for _, o := range in.fake.Objects("cs") {
		pi := o.Text("payment_intent")
		list = append(list, viewOf(o, intents[pi], disputes[pi]))
	}
	return list
}

func viewOf(o, intent, dispute fakestripe.Object) paymentView {
	currency := strings.ToUpper(o.Text("currency"))
	amount, _ := o["amount_total"].(int64)
	at, _ := o["created"].(int64)
	v := paymentView{
		ID: o.Text("id"), Item: o.Text("item"),
		Amount: payment.Amount{Units: payment.OwnAmount(amount, currency), Currency: currency},
		At:     time.Unix(at, 0).UTC(), State: stateOf(o, intent, dispute), units: amount,
		Return: here(o.Text("success_url")), Back: here(o.Text("cancel_url")),
	}
	v.Bank = v.State == stateWaiting
	v.Paid = v.State == statePaid || v.State == stateWon
	if v.State == stateOpen {
		v.Pay = o.Text("url")
	}
	if v.State == stateDisputed {
		v.Dispute = dispute.Text("id")
	}
	return v
}

// here returns a URL of the service without its host: the port may have changed since the payment
// began.
func here(to string) string {
	u, err := url.Parse(to)
	if err != nil {
		return "/"
	}
	return u.RequestURI()
}

// States of a payment, as shown on badges.
const (
	stateOpen     = "open"
	stateWaiting  = "waiting"
	statePaid     = "paid"
	stateFailed   = "failed"
	stateExpired  = "expired"
	stateRefunded = "refunded"
	stateDisputed = "disputed"
	stateWon      = "dispute_won"
	stateLost     = "dispute_lost"
)

func stateOf(o, intent, dispute fakestripe.Object) string {
	switch {
	case o.Text("status") != "complete":
		return o.Text("status") // open or expired
	case dispute.Text("status") == "lost":
		return stateLost
	case intent != nil && intent["refunded"] == intent["amount"]:
		return stateRefunded
	case dispute.Text("status") == "won":
		return stateWon
	case dispute != nil:
		return stateDisputed
	case intent.Text("status") == "succeeded":
		return statePaid
	case intent.Text("status") == "processing":
		return stateWaiting
	}
	return stateFailed
}

// find returns the payment that the path names.
func (in *standIn) find(r *http.Request) (paymentView, error) {
	for _, v := range in.payments() {
		if v.ID == r.PathValue("id") {
			return v, nil
		}
	}
	return paymentView{}, fault.New(
		fault.Missing, codeUnknownPayment,
		"There is no such payment here. Go back to the shop and buy again.",
	)
}

// stripeView is the page of all payments.
type stripeView struct {
	Payments []paymentView
	Posts    []post
	Held     int
	Form     ui.Form
}

func (in *standIn) list(w http.ResponseWriter, r *http.Request) error {
	wrong, held, posts := in.now()
	return in.pages.Render(w, r, "stripe", ui.View{Title: "Test payments", Wide: true, NoIndex: true, Data: stripeView{
		Payments: in.payments(), Posts: posts, Held: held, Form: ui.Form{Fields: []ui.Field{
			{
				Name: "lost", Label: "Lost", Type: "checkbox", Checked: wrong.Lost,
				Hint: "None is posted. The service asks for what it was not told.",
			},
			{
				Name: "doubled", Label: "Doubled", Type: "checkbox", Checked: wrong.Doubled,
				Hint: "Each is posted twice.",
			},
			{
				Name: "reordered", Label: "Reordered", Type: "checkbox", Checked: wrong.Reordered,
				Hint: "Each waits for the next one and is posted after it.",
			},
		}},
	}})
}

// switches changes the faults of webhooks.
func (in *standIn) switches(w http.ResponseWriter, r *http.Request) error {
	in.set(
		disorder{
			Lost: r.PostForm.Has("lost"), Doubled: r.PostForm.Has("doubled"),
			Reordered: r.PostForm.Has("reordered"),
		},
	)
	ui.SeeOther(w, r, stripePath+"/")
	return nil
}

// act applies an action of a bank, a buyer or a Dashboard user to a payment.
func (in *standIn) act(w http.ResponseWriter, r *http.Request) error {
	v, err := in.find(r)
	if err != nil {
		return err
	}
	switch act := r.PostFormValue("act"); {
	case act == "bank-pays" && v.Bank:
		in.fake.Settle(v.ID, true)
	case act == "bank-refuses" && v.Bank:
		in.fake.Settle(v.ID, false)
	case act == "refund" && v.Paid:
		in.fake.RefundAll(v.ID)
	case act == "refund-part" && v.Paid:
		in.fake.Refund(v.ID, v.units/10, "succeeded")
	case act == "refund-fails" && v.Paid:
		in.fake.Refund(v.ID, v.units, "failed")
	case act == "inquiry" && v.Paid:
		in.fake.Dispute(v.ID, "warning_needs_response")
	case act == "dispute" && v.Paid:
		in.fake.Dispute(v.ID, "needs_response")
	case act == "win" && v.Dispute != "":
		in.fake.SetDispute(v.Dispute, "won")
	case act == "lose" && v.Dispute != "":
		in.fake.SetDispute(v.Dispute, "lost")
	default:
		return errNotNow()
	}
	if err := in.save(r.Context()); err != nil {
		return err
	}
	ui.SeeOther(w, r, stripePath+"/")
	return nil
}

func errNotNow() error {
	return fault.New(
		fault.Conflict, codePaymentMoved,
		"This payment no longer allows that. Open the page again to see its state.",
	)
}

// payPage is shown to buyers instead of Stripe's page.
func (in *standIn) payPage(w http.ResponseWriter, r *http.Request) error {
	v, err := in.find(r)
	if err != nil {
		return err
	}
	return in.showPay(w, r, v, "")
}

func (in *standIn) showPay(w http.ResponseWriter, r *http.Request, v paymentView, problem string) error {
	return in.pages.Render(
		w, r, "stripe-pay", ui.View{Title: "Pay for " + v.Item, NoIndex: true, Problem: problem, Data: v},
	)
}

// pay handles the buyer's choice. A declined card leaves the page open, as at Stripe.
func (in *standIn) pay(w http.ResponseWriter, r *http.Request) error {
	v, err := in.find(r)
	if err != nil {
		return err
	}
	if v.Pay == "" {
		return errNotNow()
	}
	switch r.PostFormValue("act") {
	case "pay":
		in.fake.Pay(v.ID)
	case "later":
		in.fake.PayLater(v.ID)
	default:
		return in.showPay(w, r, v, "The card was declined. Nothing was charged. Try another way to pay.")
	}
	if err := in.save(r.Context()); err != nil {
		return err
	}
	ui.SeeOther(w, r, v.Return)
	return nil
}
