package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/ui"
)

// licenseAct is an act on a license. Its page previews the effects with the code of the act. If the
// act needs input, an earlier page asks for it.
type licenseAct struct {
	name    string // in addresses, here and in the operator API
	scope   account.Scope
	label   string // "Hold…"
	heading string
	button  ui.Button
	done    string
	says    []string // facts that the preview does not show
	fields  func(l *Licenses, r *http.Request, d license.Detail) ([]ui.Field, error)
	first   bool // the fields are asked for before the preview

	// why returns the reason the act is not possible, or "".
	why func(d license.Detail) string
	do  func(ctx context.Context, r *license.Store, by audit.Actor, key string, value func(string) string) error
}

// notRefunded returns a reason if nothing of the license is left to refund.
func notRefunded(d license.Detail) string {
	if d.Refunded() {
		return "Every purchase of it was refunded."
	}
	return ""
}

// notEnded returns a reason if the license no longer entitles to anything.
func notEnded(d license.Detail) string {
	if d.Ended && !d.Refunded() {
		return "The money that paid for it was refunded or lost to a dispute."
	}
	return notRefunded(d)
}

// holdReasons are the reasons for a hold.
var holdReasons = []ui.Option{
	{Value: "held", Label: "The marketplace holds it"},
	{Value: "chargeback", Label: "The payment is disputed"},
}

var licenseActs = []licenseAct{
	{
		name:    "hold",
		scope:   account.Support,
		label:   "Hold…",
		heading: "Put the license on hold",
		done:    "The license is on hold.",
		button:  ui.Button{Label: "Put it on hold", Busy: "Holding…", Kind: "danger"},
		says:    []string{"While it is on hold nobody can use or activate it. You lift the hold by reinstating it."},
		fields: func(*Licenses, *http.Request, license.Detail) ([]ui.Field, error) {
			return []ui.Field{{Name: "reason", Label: "Why", Type: "select", Value: "held", Options: holdReasons}}, nil
		},
		why: func(d license.Detail) string {
			if d.Held != 0 {
				return "It is on hold already."
			}
			return ""
		},
		do: func(ctx context.Context, r *license.Store, by audit.Actor, key string, value func(string) string) error {
			reason, err := license.ParseHold(value("reason"))
			if err == nil {
				_, err = r.Hold(ctx, by, key, reason)
			}
			return err
		},
	},
	{
		name:    "reinstate",
		scope:   account.Support,
		label:   "Reinstate…",
		heading: "Lift the hold",
		done:    "The hold is lifted.",
		button:  ui.Button{Label: "Lift the hold", Busy: "Lifting…"},
		why: func(d license.Detail) string {
			if d.Held == 0 {
				return "It is not on hold."
			}
			return notEnded(d)
		},
		do: func(ctx context.Context, r *license.Store, by audit.Actor, key string, _ func(string) string) error {
			_, err := r.Reinstate(ctx, by, key)
			return err
		},
	},
	{
		name:    "release",
		scope:   account.Support,
		label:   "Release…",
		heading: "Disconnect the license",
		done:    "The license is disconnected.",
		button:  ui.Button{Label: "Disconnect it", Busy: "Disconnecting…", Kind: "danger"},
		says: []string{
			"It is disconnected from the account it is used with, and the application's access ends. Its owner can " +
				"activate it again, also with another account of the application.",
		},
		why: func(d license.Detail) string {
			if d.Status != event.Active {
				return fmt.Sprintf("Only an active license can be released; this one is %s.", d.Status)
			}
			return ""
		},
		do: func(ctx context.Context, r *license.Store, by audit.Actor, key string, _ func(string) string) error {
			_, err := r.Release(ctx, by, key)
			return err
		},
	},
	{
		name:    "transfer",
		scope:   account.Support,
		label:   "Transfer…",
		heading: "Give the license to somebody else",
		done:    "The license has a new owner.",
		first:   true,
		button:  ui.Button{Label: "Transfer it", Busy: "Transferring…", Kind: "danger"},
		says: []string{
			"The present owner loses it. The new owner sees it after signing in with this address, and activates " +
				"it. Somebody who has no account yet gets one.",
		},
		fields: func(*Licenses, *http.Request, license.Detail) ([]ui.Field, error) {
			return []ui.Field{
				{Name: "email", Label: "Email address of the new owner", Type: "email", Required: true},
			}, nil
		},
		why: func(license.Detail) string { return "" },
		do: func(ctx context.Context, r *license.Store, by audit.Actor, key string, value func(string) string) error {
			to := account.Person{Email: value("email")}
			if err := to.Valid(); err != nil {
				return err
			}
			_, err := r.Transfer(ctx, by, key, to)
			return err
		},
	},
	{
		name:    "plan",
		scope:   account.Sell,
		label:   "Change the plan…",
		heading: "Change the plan",
		done:    "The plan is changed.",
		first:   true,
		button:  ui.Button{Label: "Change the plan", Busy: "Changing…"},
		says: []string{
			"It is recorded as a purchase of its own, which can be refunded by itself. It moves no money: your " +
				"checkout does that.",
		},
		fields: planFields,
		why:    notEnded,
		do: func(ctx context.Context, r *license.Store, by audit.Actor, key string, value func(string) string) error {
			tier, err := strconv.Atoi(value("tier"))
			if err != nil {
				return fault.Field("tier", "must be one of the partner's plans.")
			}
			cents, currency, err := amount("amount", value("amount"), value("currency"))
			if err != nil {
				return err
			}
			_, err = r.ChangePlan(ctx, by, key, license.PlanChange{
				Tier:        tier,
				AmountCents: cents,
				Currency:    currency,
				ExternalID:  value("external_id"),
			})
			return err
		},
	},
}

// acts returns the visitor's acts on a license; impossible ones have a reason.
func (l *Licenses) acts(v *Visit, d license.Detail) []choice {
	refund := choice{Label: "Refund all of it…", URL: v.Path(licensesPath+"/%s/refund", d.Key), Why: notRefunded(d)}
	if !v.May(account.Sell) {
		refund.Why = "Needs the role sales or admin."
	}
	list := []choice{refund}
	for _, a := range licenseActs {
		out := choice{Label: a.label, URL: v.Path(licensesPath+"/%s/%s", d.Key, a.name), Why: a.why(d)}
		switch {
		case v.May(a.scope):
		case a.scope == account.Sell:
			out.Why = "Needs the role sales or admin."
		default:
			out.Why = "Needs the role support or admin."
		}
		list = append(list, out)
	}
	return list
}

// seenLicense returns the state that a form about licenses showed.
func seenLicense(list ...license.Detail) area.Seen {
	var seen area.Seen
	for _, d := range list {
		seen.Version += d.Version
		of := ""
		if len(list) > 1 {
			of = " of " + d.Key[len(d.Key)-4:]
		}
		open := 0
		for _, k := range d.Links {
			if k.Open() {
				open++
			}
		}
		seen.Facts = append(
			seen.Facts,
			area.Fact{Name: "Status" + of, Value: d.Status.String()},
			area.Fact{Name: "Tier" + of, Value: strconv.Itoa(d.Tier)},
			area.Fact{Name: "Hold" + of, Value: d.Held.String()},
			area.Fact{Name: "Number of the owner" + of, Value: strconv.FormatInt(d.OwnerID, 10)},
			area.Fact{Name: "Purchases" + of, Value: strconv.Itoa(len(d.Links))},
			area.Fact{Name: "Purchases that are not refunded" + of, Value: strconv.Itoa(open)},
		)
	}
	return seen
}

// versions returns the versions that an act requires.
func versions(list ...license.Detail) map[string]string {
	seen := make(map[string]string, len(list))
	for _, d := range list {
		seen[d.Key] = d.Version
	}
	return seen
}

// effects describes the effects of an act on licenses.
func effects(list []license.Effect) []string {
	var says []string
	for _, e := range list {
		of := "The license"
		if len(list) > 1 {
			of = "License " + e.Before.Key[len(e.Before.Key)-4:]
		}
		now := state(e.Before)
		then := state(e.After)
		if now == then {
			says = append(says, fmt.Sprintf("%s stays %s. The partner is not told anything.", of, now))
		} else {
			says = append(says, fmt.Sprintf(
				"%s is %s and becomes %s. The partner is told by the event %s, reason %s.",
				of, now, then, e.Event, e.Reason,
			))
		}
		if e.Refunded > 0 {
			says = append(says, fmt.Sprintf("Purchases of it that count as refunded from then on: %d.", e.Refunded))
		}
	}
	return says
}

func state(l license.License) string { return fmt.Sprintf("%s, tier %d", l.Status, l.Tier) }

// confirmed is the hidden field of a form that had a preview.
const confirmed = "confirmed"

// action returns the act on the license of the path.
func (l *Licenses) action(a licenseAct) func(r *http.Request, v *Visit) (area.Action, error) {
	return func(r *http.Request, v *Visit) (area.Action, error) {
		d, err := l.Licenses.Inspect(r.Context(), r.PathValue("license"))
		if err != nil {
			return area.Action{}, area.Missing(err)
		}
		call := l.call("The same by API", http.MethodPost, "/operator/v1/licenses/"+d.Key+"/"+a.name)
		act := area.Action{Seen: seenLicense(d), Ask: ui.Confirm{
			Heading: a.heading, Cancel: v.Path(licensesPath+"/%s", d.Key), Button: a.button, Call: &call,
			Says: []string{fmt.Sprintf("License %s is %s.", d.Key, state(d.License))},
		}}
		if a.fields != nil {
			act.Ask.Fields, act.Refused = a.fields(l, r, d)
		}
		if why := a.why(d); why != "" && act.Refused == nil {
			act.Refused = fault.New(fault.Conflict, license.CodeLicenseChanged, "This cannot be done now. %s", why)
		}
		if act.Refused == nil {
			l.steps(r, v, a, d, &act) //nolint:contextcheck // it has the request
		}
		return act, nil
	}
}

// steps adds the preview and the act. If the act needs input, its first form leads to a second
// page with the preview.
func (l *Licenses) steps(r *http.Request, v *Visit, a licenseAct, d license.Detail, act *area.Action) {
	first := ui.Button{Label: "See what will happen", Busy: "Looking…"}
	value := fieldValue(r, act.Ask)
	switch {
	case r.Method != http.MethodPost && a.first:
		act.Ask.Says = append(act.Ask.Says, a.says...)
		act.Ask.Button = first
	case r.Method != http.MethodPost:
		act.Refused = l.preview(r, v, a, &act.Ask, d, value)
	case a.first && r.PostFormValue(confirmed) == "":
		act.Ask.Button = first
		act.Then = func(view ui.Confirm) (ui.Confirm, error) {
			err := l.preview(r, v, a, &view, d, value)
			for _, f := range view.Fields {
				view.Says = append(view.Says, f.Label+": "+dash(f.Value))
				view.Hidden = append(view.Hidden, ui.Param{Name: f.Name, Value: f.Value})
			}
			view.Fields = nil
			view.Hidden = append(view.Hidden, ui.Param{Name: confirmed, Value: "yes"})
			view.Button = a.button
			return view, err
		}
	default:
		act.Do = func(ctx context.Context) (string, error) {
			return a.done, a.do(ctx, l.Licenses.IfUnchanged(versions(d)), v.Actor(), d.Key, value)
		}
	}
}

// preview adds the effects of the act.
func (l *Licenses) preview(
	r *http.Request, v *Visit, a licenseAct, view *ui.Confirm, d license.Detail, value func(string) string,
) error {
	list, err := l.Licenses.Preview(func(dry *license.Store) error {
		return a.do(r.Context(), dry, v.Actor(), d.Key, value)
	})
	if err != nil {
		return err
	}
	view.Says = append(append(view.Says, effects(list)...), a.says...)
	return nil
}

// fieldValue reads the values of a form, as sent or as shown.
func fieldValue(r *http.Request, view ui.Confirm) func(string) string {
	return func(name string) string {
		for _, f := range view.Fields {
			if f.Name == name && !r.PostForm.Has(name) {
				return f.Value
			}
		}
		return ui.FormText(r, name)
	}
}
