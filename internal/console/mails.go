package console

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

const mailPath = mailsPath + "/{mail}"

// mails lists failed emails: those given up, or those still retried.
func (d *Delivery) mails(w http.ResponseWriter, r *http.Request, v *Visit) error {
	q := r.URL.Query()
	waiting := q.Get("state") == "waiting"
	before, _ := strconv.ParseInt(q.Get("before"), 10, 64)
	var list []mail.Failed
	var err error
	state := "given_up"
	if waiting {
		state = "waiting"
		list, err = mail.ListRetried(r.Context(), d.DB, rowsPerPage+1)
	} else {
		list, err = mail.ListGivenUp(r.Context(), d.DB, max(before, 0), rowsPerPage+1)
	}
	if err != nil {
		return err
	}
	view := recordsView{
		Heading: "Mails",
		Lead: "Mails that did not reach their person. What a mail says is not shown, and not kept where it lets " +
			"its reader sign in.",
		Tabs: &ui.Tabs{Label: "Mails that failed", Items: []ui.Tab{
			{Label: "Given up", URL: v.Path(mailsPath), Current: !waiting},
			{Label: "Tried again", URL: v.Path(mailsPath) + "?state=waiting", Current: waiting},
		}},
		Results: ui.Results{Nothing: ui.Empty{
			Title: "No mail failed", Text: "Every mail was sent, or is on its way for the first time.",
		}},
		Curl: d.call("The same by API", http.MethodGet, "/operator/v1/mails", ui.Param{Name: "state", Value: state}),
	}
	if len(list) > rowsPerPage {
		list = list[:rowsPerPage]
		view.Results.Pager = (ui.Pager{Label: "Pages of mails", Showing: "The next 50 that are due"})
		if !waiting {
			next := area.WithParam(r, "before", strconv.FormatInt(list[rowsPerPage-1].ID, 10))
			view.Results.Pager = ui.Pager{Label: "Pages of mails", Next: next}
		}
	}
	view.Results.Table = mailsTable(v, list)
	return d.render(w, r, v, "records", ui.View{Title: "Mails", Data: view})
}

func mailsTable(v *Visit, list []mail.Failed) ui.Table {
	t := ui.Table{
		ID: "mails", Caption: "Mails that failed", Cards: true,
		Columns: []ui.Column{
			{Label: "Mail"},
			{Label: "State"},
			{Label: "To"},
			{Label: "Subject", Wrap: true},
			{Label: "Attempts", Number: true},
			{Label: "Last error", Wrap: true},
			{Label: "Made"},
		},
	}
	for _, m := range list {
		state := ui.Cell{Status: stateOf(m)}
		if m.State == mail.Waiting {
			state.Note = "tried again by itself"
		}
		t.Rows = append(t.Rows, ui.Row{ID: fmt.Sprintf("mail-%d", m.ID), Cells: []ui.Cell{
			{Text: fmt.Sprintf("Mail %d", m.ID), URL: v.Path(mailsPath+"/%d", m.ID)},
			state,
			{Text: m.To},
			{Text: m.Subject},
			{Text: strconv.Itoa(m.Attempts)},
			{Text: sentence(m.Error)},
			{At: m.CreatedAt},
		}})
	}
	return t
}

// stateOf returns the badge of an email's state.
func stateOf(m mail.Failed) string {
	if m.State == mail.GivenUp {
		return "given_up"
	}
	return m.State.String()
}

// mailView is the page of a failed email.
type mailView struct {
	mail.Failed
	Badge   string
	Hidden  []ui.Param
	Send    string // target of the form, "" if it cannot be sent
	Dismiss string
	Instead string // advice if it cannot be sent again
	Problem ui.Form
	Call    ui.Curl
}

// seenMail returns the state of an email that a page showed.
func seenMail(m mail.Failed) area.Seen {
	return area.Seen{
		Version: strconv.Itoa(m.Attempts) + " " + m.State.String(),
		Facts: []area.Fact{
			{Name: "State", Value: m.State.String()}, {Name: "Attempts", Value: strconv.Itoa(m.Attempts)},
		},
	}
}

// mailOf reads the email of the path and builds its page.
func (d *Delivery) mailOf(r *http.Request, v *Visit) (mailView, error) {
	m, err := mail.Get(r.Context(), d.DB, area.ID(r, "mail"))
	if err != nil {
		return mailView{}, area.Missing(err)
	}
	view := mailView{Failed: m, Badge: stateOf(m), Hidden: []ui.Param{seenMail(m).Param()}}
	view.Call = d.call("Send it again by API", http.MethodPost, fmt.Sprintf("/operator/v1/mails/%d/send", m.ID))
	switch {
	case !v.May(account.Support):
	case m.Again:
		view.Send = v.Path(mailsPath+"/%d/send", m.ID)
	case m.State == mail.GivenUp:
		view.Instead = "What it said is not stored any more, because it had a link. Have a new one made: the person " +
			"asks for another link on the sign-in page, or an admin of the partner sends the invitation again."
	}
	if v.May(account.Support) && m.State == mail.GivenUp {
		view.Dismiss = v.Path(mailsPath+"/%d/dismiss", m.ID)
	}
	return view, nil
}

// mail shows a failed email.
func (d *Delivery) mail(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, err := d.mailOf(r, v)
	if err != nil {
		return err
	}
	return d.render(w, r, v, "mail", ui.View{Title: fmt.Sprintf("Mail %d", view.ID), Data: view})
}

// sendMail resends an email.
func (d *Delivery) sendMail(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return d.onMail(w, r, v, "The mail is sent again. If it fails, it comes back here.", d.Mail.SendAgain)
}

// dismissMail marks a failed email as handled.
func (d *Delivery) dismissMail(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return d.onMail(w, r, v, "The mail is dismissed.", d.Mail.Dismiss)
}

// onMail acts on an email if it is unchanged since the page showed it.
func (d *Delivery) onMail(w http.ResponseWriter, r *http.Request, v *Visit, did string,
	act func(ctx context.Context, db *sqldb.DB, by audit.Actor, id int64, now time.Time) error,
) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, err := d.mailOf(r, v)
	if err != nil {
		return err
	}
	if err = seenMail(view.Failed).Unchanged(r); err == nil {
		err = act(r.Context(), d.DB, v.Actor(), view.ID, d.Now())
	}
	switch f := fault.Of(err); {
	case f != nil && f.Kind != fault.Missing:
		view.Problem.Refuse(err)
		page := ui.View{Title: fmt.Sprintf("Mail %d", view.ID), Status: wire.Status(f.Kind), Data: view}
		return d.render(w, r, v, "mail", page)
	case err != nil:
		return area.Missing(err)
	}
	return d.area.Done(w, r, v, mailsPath, did)
}
