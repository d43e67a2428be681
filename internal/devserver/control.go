package devserver

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// The paths of the control page.
const (
	controlPath = "/dev"
	actPath     = controlPath + "/act"
)

// maxChoices is the number of newest licenses on the control page.
const maxChoices = 20

// buyers are the people behind the redeem buttons. The second one is created on demand and signs in
// by email.
var buyers = map[string]account.Person{
	"redeem":       {Email: buyerEmail, Name: "Bea Buyer"},
	"redeem-other": {Email: "second@example.com", Name: "Sam Second"},
}

// control is the page with which a developer changes licenses of the partner.
type control struct {
	pages     *ui.Pages
	events    *activity
	clock     *clock
	faults    *faults
	services  *app.Services
	partnerID int64
	links     []place
}

// place is a link of the control page.
type place struct{ URL, Name, Text string }

func (c *control) routes() []wire.Route {
	return []wire.Route{pageRoute(c.pages, controlPath, c.home), formRoute(c.pages, actPath, c.act)}
}

// act is the action of a button on a license, with its message.
type act struct {
	Name, Label string
	run         func(ctx context.Context, c *control, l license.License, form url.Values) error
	done        string
}

// licenseActs are the buttons for a license, in order.
var licenseActs = []act{
	{"redeem", "Redeem as " + buyers["redeem"].Name, redeem("redeem"), "The license is redeemed."},
	{"redeem-other", "Redeem as " + buyers["redeem-other"].Name, redeem("redeem-other"), "The license is redeemed."},
	{"hold", "Hold", func(ctx context.Context, c *control, l license.License, _ url.Values) error {
		_, err := c.services.Licenses.Hold(ctx, actor, l.Key, license.HoldOther)
		return err
	}, "The license is on hold."},
	{"reinstate", "Reinstate", func(ctx context.Context, c *control, l license.License, _ url.Values) error {
		_, err := c.services.Licenses.Reinstate(ctx, actor, l.Key)
		return err
	}, "The license is reinstated."},
	{"release", "Release", func(ctx context.Context, c *control, l license.License, _ url.Values) error {
		_, err := c.services.Licenses.Release(ctx, actor, l.Key)
		return err
	}, "The license is released from its account; its buyer can redeem it again."},
	{"refund", "Refund", func(ctx context.Context, c *control, l license.License, _ url.Values) error {
		_, err := c.services.Licenses.Refund(ctx, actor, license.RefundOrder{LicenseKey: l.Key, Reason: "claviger dev"})
		return err
	}, "Every purchase of the license is refunded."},
	{"redeliver", "Redeliver the newest event", redeliver, "The newest event is sent again."},
	{"plan", "Change plan", changePlan, "The plan is changed."},
}

// redeem makes one of the buyers redeem a license, as on the redeem page.
func redeem(who string) func(context.Context, *control, license.License, url.Values) error {
	return func(ctx context.Context, c *control, l license.License, _ url.Values) error {
		u, _, err := c.services.Accounts.Create(ctx, actor, buyers[who])
		if err != nil {
			return err
		}
		_, err = c.services.Licenses.Redeem(ctx, actor, l.RedemptionID, u.ID)
		return err
	}
}

// redeliver sends the newest event of a license again.
func redeliver(ctx context.Context, c *control, l license.License, _ url.Values) error {
	list, err := c.services.Events.OfLicense(ctx, l.ID, event.Filter{}, paging.First())
	if err != nil {
		return err
	}
	newest := slices.MaxFunc(list.Events, func(a, b event.Event) int { return cmp.Compare(a.ID, b.ID) })
	return c.services.Webhooks.Redeliver(ctx, actor, c.partnerID, newest.ID)
}

// changePlan buys another plan for a license.
func changePlan(ctx context.Context, c *control, l license.License, form url.Values) error {
	p, err := c.plan(ctx, form)
	if err != nil {
		return err
	}
	_, err = c.services.Licenses.ChangePlan(
		ctx,
		actor,
		l.Key,
		license.PlanChange{Tier: p.Tier, AmountCents: p.PriceCents, Currency: p.Currency},
	)
	return err
}

// home shows the page with the last action.
func (c *control) home(w http.ResponseWriter, r *http.Request) error {
	v := ui.View{}
	for _, a := range slices.Concat(licenseActs, []act{
		{Name: "buy", done: "A license is sold. It is not redeemed yet."},
		{Name: "time", done: "Time has moved. Retries that are due are sent within a second."},
	}) {
		if a.Name == r.URL.Query().Get("done") {
			v.Notice = a.done
		}
	}
	return c.show(w, r, v, r.URL.Query().Get("license"))
}

// act runs the action of a button and redirects to the page, which shows refusals.
func (c *control) act(w http.ResponseWriter, r *http.Request) error {
	key, err := c.do(r.Context(), r.PostForm)
	if f := fault.Of(err); f != nil {
		return c.show(w, r, ui.View{Status: wire.Status(f.Kind), Problem: f.Text}, key)
	}
	if err != nil {
		return err
	}
	ui.SeeOther(w, r, controlPath+"/?"+url.Values{"done": {r.PostForm.Get("act")}, "license": {key}}.Encode())
	return nil
}

// do runs the action of a form and returns the key of its license.
func (c *control) do(ctx context.Context, form url.Values) (key string, err error) {
	if form.Get("act") == "buy" {
		return c.buy(ctx, form)
	}
	key = form.Get("license")
	at := slices.IndexFunc(licenseActs, func(a act) bool { return a.Name == form.Get("act") })
	if at < 0 {
		return key, fault.New(fault.Invalid, fault.CodeInvalidParameter, "There is no such act. Open the page again.")
	}
	l, err := c.services.Licenses.OfPartner(ctx, c.partnerID, key)
	if err != nil {
		return key, err
	}
	return key, licenseActs[at].run(ctx, c, l, form)
}

// buy sells a license without an owner, so that either buyer can redeem it.
func (c *control) buy(ctx context.Context, form url.Values) (key string, err error) {
	p, err := c.plan(ctx, form)
	if err != nil {
		return "", err
	}
	sale, err := c.services.Licenses.Purchase(ctx, actor, license.Purchase{
		PartnerID: c.partnerID, Tier: p.Tier, Quantity: 1, AmountCents: p.PriceCents, Currency: p.Currency,
	})
	if err != nil {
		return "", err
	}
	return sale.Licenses[0].Key, nil
}

// plan returns the plan that a form names.
func (c *control) plan(ctx context.Context, form url.Values) (partner.Plan, error) {
	tier, err := strconv.Atoi(form.Get("tier"))
	if err != nil {
		return partner.Plan{}, fault.Parameter("tier", "must be a number.")
	}
	return c.services.Partners.Plan(ctx, c.partnerID, tier)
}

// controlView is the control page.
type controlView struct {
	Links   []place
	Plans   []choice
	Form    ui.Form // for a license; without fields if there is none
	Acts    []act
	Page    string // where the license is redeemed
	Newest  []line
	Account string // the email of the second buyer
	Active  []kindOfFault
	Faults  []ui.Field
	Now     time.Time
	Ahead   time.Duration
}

// choice is a plan that can be bought.
type choice struct {
	Tier int
	Name string
}

func (c *control) show(w http.ResponseWriter, r *http.Request, v ui.View, key string) error {
	data := controlView{
		Links:   c.links,
		Newest:  c.events.lines(),
		Acts:    licenseActs,
		Account: buyers["redeem-other"].Email,
		Now:     c.clock.Now(),
		Ahead:   c.clock.Ahead(),
	}
	data.Active = c.faults.active()
	for _, k := range kindsOfFaults {
		data.Faults = append(
			data.Faults,
			ui.Field{
				Name:    "fault-" + k.Name,
				Label:   k.Label,
				Type:    "checkbox",
				Hint:    k.Text,
				Checked: slices.Contains(data.Active, k),
			},
		)
	}
	plans, err := c.services.Partners.Plans(r.Context(), c.partnerID)
	if err != nil {
		return err
	}
	tiers := ui.Field{Name: "tier", Label: "Plan to change to", Type: "select", Required: true}
	for _, p := range plans {
		data.Plans = append(data.Plans, choice{p.Tier, p.Name})
		tiers.Options = append(
			tiers.Options,
			ui.Option{Value: strconv.Itoa(p.Tier), Label: fmt.Sprintf("Tier %d, %s", p.Tier, p.Name)},
		)
	}
	found, err := c.services.Licenses.Find(r.Context(), c.partnerID, license.Find{}, 0, maxChoices)
	if err != nil {
		return err
	}
	if len(found.Licenses) > 0 {
		licenses, err := c.licenses(r.Context(), found.Licenses, key)
		if err != nil {
			return err
		}
		data.Form = ui.Form{Fields: []ui.Field{licenses, tiers}}
	}
	v.Title = "Control page"
	v.Wide = true
	v.NoIndex = true
	v.Data = data
	return c.pages.Render(w, r, "control", v)
}

// licenses returns the field that selects a license: the one with the key, or the newest.
func (c *control) licenses(ctx context.Context, list []license.License, key string) (ui.Field, error) {
	ids := make([]int64, len(list))
	for i, l := range list {
		ids[i] = l.OwnerID
	}
	owners, err := c.services.Accounts.Users(ctx, ids)
	if err != nil {
		return ui.Field{}, err
	}
	field := ui.Field{Name: "license", Label: "License", Type: "select", Required: true, Value: key}
	for _, l := range list {
		label := fmt.Sprintf("…%s, tier %d, %s", l.Key[len(l.Key)-4:], l.Tier, l.Status)
		if u, ok := owners[l.OwnerID]; ok {
			label += ", of " + u.Called()
		}
		field.Options = append(field.Options, ui.Option{Value: l.Key, Label: label})
	}
	return field, nil
}
