package devserver

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// mailPath is the page with the caught emails.
const mailPath = "/dev/mail"

// catcher is the mail transport of dev: it sends nothing and shows the emails. The database clears
// the text of a sent email, so the catcher stores the texts in memory.
type catcher struct {
	pages  *ui.Pages
	db     *sqldb.DB
	mails  *mail.Outbox
	faults *faults

	lock  sync.Mutex
	ids   []int64          // of the emails in texts, oldest first
	texts map[int64]caught // by email
}

// caught is the content of an email. Emails that are not stored have no row, so the catcher stores
// their address and subject, too.
type caught struct {
	to, subject string
	text, html  string
	record      mail.Record
}

// shown is the number of newest emails that the catcher stores.
const shown = 200

// Send stores the text of the email.
func (c *catcher) Send(_ context.Context, o mail.Outgoing) (again bool, err error) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.texts == nil {
		c.texts = make(map[int64]caught)
	}
	if _, repeated := c.texts[o.ID]; !repeated {
		c.ids = append(c.ids, o.ID)
	}
	said := caught{to: o.To, subject: o.Subject, text: o.Text, html: o.HTML}
	if o.Transient {
		said.record = mail.Record{
			ID:        o.ID,
			Message:   mail.Message{To: o.To, Subject: o.Subject},
			CreatedAt: o.At,
			State:     mail.Sent,
		}
	}
	c.texts[o.ID] = said
	if len(c.ids) > shown {
		delete(c.texts, c.ids[0])
		c.ids = c.ids[1:]
	}
	return false, nil
}

// says returns the content of an email, or the zero value if it is no longer stored.
func (c *catcher) says(m mail.Record) caught {
	if m.Text != "" { // it was not sent yet
		return caught{text: m.Text}
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.texts[m.ID]
}

// about returns the recipient and the subject of a recently caught email.
func (c *catcher) about(id int64) (to, subject string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.texts[id].to, c.texts[id].subject
}

func (c *catcher) routes() []wire.Route {
	return []wire.Route{
		pageRoute(c.pages, mailPath, c.list),
		pageRoute(c.pages, mailPath+"/{id}", c.listMails),
		pageRoute(c.pages, mailPath+"/{id}/html", c.readHTML),
	}
}

// mailAnswer is an email for programs, such as claviger wait mail.
type mailAnswer struct {
	ID      int64     `json:"id"`
	To      string    `json:"to"`
	Subject string    `json:"subject"`
	At      time.Time `json:"at"`
	Text    string    `json:"text"`
}

// recent returns the newest emails, newest first.
func (c *catcher) recent(ctx context.Context) ([]mail.Record, error) {
	mails, err := c.mails.Recent(ctx, c.db, shown)
	if err != nil {
		return nil, err
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	for id, m := range c.texts {
		if m.record.ID != 0 && !slices.ContainsFunc(mails, func(r mail.Record) bool { return r.ID == id }) {
			mails = append(mails, m.record)
		}
	}
	slices.SortFunc(mails, func(a, b mail.Record) int { return cmp.Compare(b.ID, a.ID) })
	return mails[:min(len(mails), shown)], nil
}

// list shows the newest emails: as a page or, on request, as JSON.
func (c *catcher) list(w http.ResponseWriter, r *http.Request) error {
	mails, err := c.recent(r.Context())
	if err != nil {
		return err
	}
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		return wire.JSON(w, http.StatusOK, wire.ListOf(mails, func(m mail.Record) mailAnswer {
			return mailAnswer{m.ID, m.To, m.Subject, m.CreatedAt, c.says(m).text}
		}))
	}
	return c.pages.Render(
		w,
		r,
		"mails",
		ui.View{Title: "Emails", Wide: true, NoIndex: true, Data: mailsView{mails, c.faults.banner()}},
	)
}

// mailsView is the page of the newest emails.
type mailsView struct {
	Mails  []mail.Record
	Faults string // that are on; "": none
}

// emailView is the page of one email.
type emailView struct {
	mail.Record
	Lines  [][]span
	HTML   bool   // it has HTML, too
	Faults string // that are on; "": none
}

func (c *catcher) listMails(w http.ResponseWriter, r *http.Request) error {
	m, err := c.find(r)
	if err != nil {
		return err
	}
	said := c.says(m)
	return c.pages.Render(
		w,
		r,
		"mail",
		ui.View{
			Title:   m.Subject,
			NoIndex: true,
			Data:    emailView{m, lines(said.text), said.html != "", c.faults.banner()},
		},
	)
}

// readHTML shows an email like a mail program that runs no scripts and loads only pictures of this
// server.
func (c *catcher) readHTML(w http.ResponseWriter, r *http.Request) error {
	m, err := c.find(r)
	if err != nil {
		return err
	}
	said := c.says(m)
	if said.html == "" {
		return fault.New(fault.Missing, codeUnknownMail, "This email has no HTML, or it is no longer held.")
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set(
		"Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'none'; base-uri 'none'; "+
			"frame-ancestors 'none'",
	)
	h.Set("Cache-Control", "no-store")
	_, err = io.WriteString(w, said.html)
	return err
}

// find returns the email that the path names.
func (c *catcher) find(r *http.Request) (mail.Record, error) {
	mails, err := c.recent(r.Context())
	if err != nil {
		return mail.Record{}, err
	}
	at := slices.IndexFunc(mails, func(m mail.Record) bool { return strconv.FormatInt(m.ID, 10) == r.PathValue("id") })
	if at < 0 {
		return mail.Record{}, fault.New(
			fault.Missing,
			codeUnknownMail,
			"There is no such email among the newest %d.",
			shown,
		)
	}
	return mails[at], nil
}

// span is a piece of a line: a text or a link.
type span struct{ Text, URL string }

var link = regexp.MustCompile(`https?://[^\s<>"]*[^\s<>".,;:!?')\]]`)

// lines splits a text into lines, with its URLs as links.
func lines(text string) [][]span {
	var all [][]span
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		var spans []span
		from := 0
		for _, at := range link.FindAllStringIndex(line, -1) {
			spans = append(spans, span{Text: line[from:at[0]]}, span{Text: line[at[0]:at[1]], URL: line[at[0]:at[1]]})
			from = at[1]
		}
		all = append(all, append(spans, span{Text: line[from:]}))
	}
	return all
}
