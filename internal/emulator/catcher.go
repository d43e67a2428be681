package emulator

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// mailPath is where a developer reads the mails that nobody got.
const mailPath = "/dev/mail"

// caught is the transport of dev: a mail counts as sent and goes nowhere.
type caught struct{}

// Send keeps the mail where it is, in the outbox.
func (caught) Send(context.Context, mail.Outgoing) (bool, error) { return false, nil }

// catcher shows the outbox.
type catcher struct {
	pages *ui.Pages
	db    *sqldb.DB
}

// shown is how many mails the catcher knows of, the newest.
const shown = 200

func (c *catcher) routes() []wire.Route {
	return []wire.Route{pageRoute(c.pages, mailPath, c.list), pageRoute(c.pages, mailPath+"/{id}", c.read)}
}

func (c *catcher) list(w http.ResponseWriter, r *http.Request) error {
	mails, err := mail.Recent(r.Context(), c.db, shown)
	if err != nil {
		return err
	}
	return c.pages.Render(w, r, "mails", ui.View{Title: "Mails", Wide: true, NoIndex: true, Data: mails})
}

// letter is a mail to be read.
type letter struct {
	mail.Record
	Lines [][]span
}

func (c *catcher) read(w http.ResponseWriter, r *http.Request) error {
	mails, err := mail.Recent(r.Context(), c.db, shown)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(mails, func(m mail.Record) bool { return strconv.FormatInt(m.ID, 10) == r.PathValue("id") })
	if at < 0 {
		return fault.New(fault.Missing, "unknown_mail", "There is no such mail among the newest %d.", shown)
	}
	m := mails[at]
	return c.pages.Render(w, r, "mail", ui.View{Title: m.Subject, NoIndex: true, Data: letter{m, lines(m.Text)}})
}

// span is a piece of a line: a text or a link.
type span struct{ Text, URL string }

var link = regexp.MustCompile(`https?://[^\s<>"]*[^\s<>".,;:!?')\]]`)

// lines makes the links in a text ones to click on.
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
