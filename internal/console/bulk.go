package console

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/bulk"
	"claviger/internal/fault"
	"claviger/internal/live"
	"claviger/internal/plural"
	"claviger/internal/ui"
	"claviger/internal/validate"
)

// Bulk serves the pages of bulk acts: an operator selects all rows of a list, reviews and confirms
// them, and a background job does the work.
type Bulk struct {
	section
	Jobs *bulk.Store
	Live *live.Versions // of the jobs

	chosen map[bulk.Kind]func(r *http.Request, v *Visit) (chosen, error) // set by Handler
}

const bulkJobPath = bulkPath + "/{bulk}"

// Each act has its own rows, because it needs its own scope to choose, to confirm and to end.
func (b *Bulk) table() []Route {
	rows := append(lives(bulkJobPath, b.job), row(Page, bulkPath, account.Read, b.list))
	for _, act := range bulk.Acts {
		at := bulkPath + "/" + string(act)
		one := at + "/{" + string(act) + "_job}"
		rows = append(rows, area.Actions(at, changes(act.Scope()), of(b.prepare(act)))...)
		rows = append(rows, area.Actions(one+"/cancel", changes(act.Scope()), of(b.cancel(act)))...)
		rows = append(rows, row(Act, one, act.Scope(), b.change(act)))
	}
	return rows
}

// chosen is the content of a list, for an act on all of it.
type chosen struct {
	form   ui.Form // the filters, with their errors
	back   string  // the list
	find   bulk.Selection
	filter map[string]any // in the operator API
}

// bulkWords are the names of an act.
type bulkWords struct {
	one    string // on the button of a list: "Hold all of these…"
	title  string // "Hold licenses"
	verb   string // on the button that confirms, with the number: "Hold %s"
	thing  string // of them: "license"
	says   string // facts that the rows do not show
	danger bool
}

var wordsOf = map[bulk.Act]bulkWords{
	bulk.Hold: {
		"Hold…", "Hold licenses", "Hold %s", "license",
		"While a license is on hold nobody can use or activate it. Reinstating lifts the hold.", true,
	},
	bulk.Reinstate: {"Reinstate…", "Lift the hold of licenses", "Lift the hold of %s", "license", "", false},
	bulk.Refund: {
		"Refund…", "Refund licenses", "Refund %s", "license",
		"This records refunds. It moves no money: your checkout does that. A refund can be reversed.", true,
	},
	bulk.Reverse: {
		"Reverse refunds…", "Reverse refunds", "Reverse %s", "refund",
		"A refund is reversed for all of its licenses. One that is held or released besides stays so.", false,
	},
	bulk.Redeliver: {
		"Send again…", "Send events again", "Send %s again", "event",
		"Events are sent oldest first, with the same webhook-id, signed anew.", false,
	},
	bulk.Pause: {
		"Pause…", "Pause partners", "Pause %s", "partner", "At once, on every node. Licenses stay as they are.", true,
	},
	bulk.Resume: {"Resume…", "Resume partners", "Resume %s", "partner", "", false},
}

// of adapts the words to the kind of the selected rows.
func (w bulkWords) of(k bulk.Kind) bulkWords {
	if k == bulk.Purchases && w.title == "Refund licenses" {
		w.title = "Refund purchases"
		w.thing = "purchase"
	}
	return w
}

// bulkActs returns links from a list to the acts on all of its rows.
func (s *Shell) bulkActs(r *http.Request, v *Visit, kind bulk.Kind) []ui.Tab {
	q := url.Values{}
	for name, values := range r.URL.Query() {
		if values[0] != "" {
			q[name] = values
		}
	}
	for _, name := range []string{"before", "after", "live"} { // display only, not filters
		q.Del(name)
	}
	var list []ui.Tab
	for _, act := range bulk.Acts {
		at := bulkPath + "/" + string(act)
		kinds := act.Kinds()
		for i, k := range kinds {
			if k != kind || !s.area.Has(at, v) {
				continue
			}
			if q.Del("of"); i > 0 {
				q.Set("of", string(k))
			}
			list = append(
				list,
				ui.Tab{Label: wordsOf[act].one, URL: (&url.URL{Path: v.Path("%s", at), RawQuery: q.Encode()}).String()},
			)
		}
	}
	return list
}

// bulkFields returns the fields of an act.
func bulkFields(r *http.Request, act bulk.Act) []ui.Field {
	value := ui.FormText(r, "reason")
	switch act {
	case bulk.Hold:
		if value == "" {
			value = "held"
		}
		return []ui.Field{{Name: "reason", Label: "Why", Type: "select", Value: value, Options: holdReasons}}
	case bulk.Pause:
		return []ui.Field{{
			Name: "reason", Label: "Reason", Value: value, Required: true, Autocomplete: "off",
			Hint: "For operators; it stands in the audit. Name no buyer.",
		}}
	case bulk.Refund:
		return []ui.Field{{Name: "reason", Label: "Note, for your own people", Value: value, Autocomplete: "off"}}
	case bulk.Reinstate, bulk.Reverse, bulk.Redeliver, bulk.Resume:
	}
	return nil
}

// prepare reads the selection and asks for the act. Its form stores the selection and leads to the
// page that shows it.
func (b *Bulk) prepare(act bulk.Act) func(r *http.Request, v *Visit) (area.Action, error) {
	return func(r *http.Request, v *Visit) (area.Action, error) {
		kind := cmp.Or(bulk.Kind(r.URL.Query().Get("of")), act.Kinds()[0])
		choose, ok := b.chosen[kind]
		if !ok {
			return area.Action{}, area.NotFound()
		}
		c, err := choose(r, v)
		if err != nil {
			return area.Action{}, err
		}
		said := ui.Filters{Fields: c.form.Fields}.Said()
		asked := area.Action{Ask: b.prepareView(r, v, act, kind, c, said)}
		if problem := c.problem(r.URL.Query()); problem != "" {
			asked.Refused = fault.New(
				fault.Invalid, area.CodeIncompleteForm, "%s Go back and correct the filter.", problem,
			)
		}
		find := c.find
		if act == bulk.Reverse && find != nil {
			find = bulk.OfRefunds(b.Jobs.Licenses, kind, find)
		}
		asked.Create = func(ctx context.Context) (to, done string, err error) {
			order := bulk.Order{Act: act, Kind: kind, Selected: cmp.Or(said, "All, without a filter"), Select: find}
			if order.Reason, err = validate.Line("reason", ui.FormText(r, "reason"), 0, 255); err != nil {
				return "", "", err
			}
			job, err := b.Jobs.Prepare(ctx, v.Actor(), order)
			return v.Path("%s/%d", bulkPath, job.ID), "", err
		}
		return asked, nil
	}
}

// prepareView builds the page that asks for an act on the selection, said in words.
func (b *Bulk) prepareView(r *http.Request, v *Visit, act bulk.Act, kind bulk.Kind, c chosen, said string) ui.Confirm {
	selected := "Chosen is all that the list shows, without a filter."
	if said != "" {
		selected = "Chosen is all that the list shows (" + said + ")."
	}
	w := wordsOf[act].of(kind)
	call := b.call("The same by API", http.MethodPost, "/operator/v1/bulk")
	body := map[string]any{"act": act, "kind": kind, "filter": c.filter}
	view := ui.Confirm{
		Heading: w.title, Cancel: c.back, Action: v.Path("%s/%s", bulkPath, act) + "?" + r.URL.RawQuery,
		Button: ui.Button{Label: "See what will happen", Busy: "Looking…"},
		Says: []string{
			selected,
			fmt.Sprintf(
				"The next page shows each of them and what will happen to it. Nothing is done before you confirm "+
					"that. At most %s can be done at once.", ui.Count(bulk.MaxRows),
			),
		},
		Form: ui.Form{Fields: bulkFields(r, act)}, Call: &call,
	}
	if w.says != "" {
		view.Says = append(view.Says, w.says)
	}
	if len(view.Fields) > 0 {
		body["reason"] = view.Fields[0].Value
	}
	call.JSON = area.JSON(body)
	return view
}

// find returns the job of a path that names an act.
func (b *Bulk) find(r *http.Request, act bulk.Act) (bulk.Job, error) {
	job, err := b.Jobs.Get(r.Context(), area.ID(r, string(act)+"_job"))
	if err == nil && job.Act != act {
		return job, area.NotFound()
	}
	return job, area.Missing(err)
}

// change confirms, pauses or resumes a job, or chooses among its rows. The message
// afterwards must stay true while the page follows the job.
func (b *Bulk) change(act bulk.Act) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		if err := ui.ReadForm(r); err != nil {
			return err
		}
		job, err := b.find(r, act)
		if err != nil {
			return err
		}
		var do func(context.Context, audit.Actor, int64) (bulk.Job, error)
		did := ""
		to := ""
		switch r.PostFormValue("do") {
		case "start":
			do = b.startSeen(r, job)
			did = "You started it."
		case "pause":
			do = b.Jobs.Pause
			did = "You paused it."
		case "resume":
			do = b.Jobs.Resume
			did = "You resumed it."
		case "leave_out":
			do = ticked(r, b.Jobs.LeaveOut)
			did = "The rows are left out."
			to = rowsQuery(r)
		case "put_back":
			do = ticked(r, b.Jobs.PutBack)
			did = "The rows are back."
			to = rowsQuery(r)
		default:
			return b.area.Refuse(w, r, v, b.refusedView(r, v, job), errIncompleteForm())
		}
		if _, err := do(r.Context(), v.Actor(), job.ID); err != nil {
			return b.area.Refuse(w, r, v, b.refusedView(r, v, job), err)
		}
		return b.area.Done(w, r, v, bulkPath+"/"+strconv.FormatInt(job.ID, 10)+to, did)
	}
}

// refusedView leads back to a job after a refusal. It shows the API call of the act that was tried,
// because people run the call that they see.
func (b *Bulk) refusedView(r *http.Request, v *Visit, job bulk.Job) ui.Confirm {
	view := ui.Confirm{
		Heading: fmt.Sprintf("Bulk act %d", job.ID), Cancel: v.Path("%s/%d", bulkPath, job.ID) + rowsQuery(r),
	}
	do := r.PostFormValue("do")
	switch do {
	case "start", "pause", "resume", "leave_out", "put_back":
	default:
		return view
	}
	call := b.call(
		"The same by API", http.MethodPost,
		fmt.Sprintf("/operator/v1/bulk/%d/%s", job.ID, strings.ReplaceAll(do, "_", "-")),
	)
	if do == "leave_out" || do == "put_back" {
		call.JSON = area.JSON(map[string]any{"positions": []int64{1, 2}})
	}
	view.Call = &call
	return view
}

// cancel cancels the job of the path.
func (b *Bulk) cancel(act bulk.Act) func(r *http.Request, v *Visit) (area.Action, error) {
	return func(r *http.Request, v *Visit) (area.Action, error) {
		job, err := b.find(r, act)
		if err != nil {
			return area.Action{}, err
		}
		call := b.call("The same by API", http.MethodPost, fmt.Sprintf("/operator/v1/bulk/%d/cancel", job.ID))
		view := ui.Confirm{
			Heading: fmt.Sprintf("Cancel bulk act %d", job.ID), Cancel: v.Path("%s/%d", bulkPath, job.ID), Call: &call,
		}
		if !job.Open() {
			view.Says = []string{fmt.Sprintf("It is %s; nothing of it is left to cancel.", job.Status())}
			return area.Action{Ask: view}, nil
		}
		says := "Nothing was done so far, and nothing will be."
		if job.Succeeded > 0 {
			says = plural.Of(job.Succeeded, "row is", "rows are") + " done and stay so; the rest is left as it is."
		}
		view.Says = []string{says, "A cancelled one cannot go on."}
		view.Button = ui.Button{Label: "Cancel it", Busy: "Cancelling…", Kind: "danger"}
		view.Back = "Keep it"
		return area.Action{Ask: view, Do: func(ctx context.Context) (string, error) {
			_, err := b.Jobs.Cancel(ctx, v.Actor(), job.ID)
			return "You cancelled it.", err
		}}, nil
	}
}
