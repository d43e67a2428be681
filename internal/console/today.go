package console

import (
	"net/http"

	"claviger/internal/account"
	"claviger/internal/ui"
)

// Today is the first page: what needs a person.
type Today struct{ section }

func (t *Today) table() []Route {
	return []Route{row(Page, todayPath, account.Read, t.today)}
}

func (t *Today) today(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return t.render(w, r, v, "today", ui.View{Title: "Today"})
}
