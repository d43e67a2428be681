package signin

import (
	"net/http"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// linkView is the page of an emailed link. Email programs and scanners open links automatically, so
// only its button uses the link.
type linkView struct {
	Token   string
	Purpose account.Purpose
	Masked  string // enough of the address for its owner to recognize it
	Other   string // the address that is signed in here now, if it differs
}

func (h *Handler) linkPage(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	token := r.URL.Query().Get("token")
	opened, err := h.Accounts.PeekLink(r.Context(), token)
	if err != nil {
		return h.expiredLink(w, r, v, opened.Next, err)
	}
	view := linkView{Token: token, Purpose: opened.Purpose, Masked: masked(opened.Email)}
	if v.SignedIn() && v.User.Email != opened.Email {
		view.Other = v.User.Email
	}
	req, err := h.OAuth.RequestAt(r.Context(), opened.Next)
	if err != nil {
		return err
	}
	return h.Site.Render(w, r, v, "link", ui.View{Title: "Sign in", NoIndex: true, FormTo: req.FormTo(), Data: view})
}

// masked hides most of an address from strangers: b•••@example.com.
func masked(email string) string {
	name, domain, ok := strings.Cut(email, "@")
	if !ok || name == "" {
		return ""
	}
	return string([]rune(name)[:1]) + "•••@" + domain
}

// useLink signs in by an emailed link. In the browser of the sign-up, the password typed there
// becomes valid. Users without a password, or with a reset link, choose one next.
func (h *Handler) useLink(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	ctx := r.Context()
	var e account.Entry
	var led string // the page that an expired link led to
	err := h.Throttle.LinkGuard().Lookup(r, func() (err error) {
		e, err = h.Merges.UseLink(
			ctx,
			r.PostFormValue("token"),
			h.Site.Sessions.Get(ctx, signUpSecret),
			wire.Client(r),
		)
		if err != nil {
			opened, _ := h.Accounts.PeekLink(ctx, r.PostFormValue("token")) // fails in the same way
			led = opened.Next
		}
		return err
	})
	if fault.Is(err, account.CodeInvalidLink) {
		if q := h.Throttle.LinkGuard().Count(wire.Client(r)); !q.OK {
			return h.tooManyLinks(w, r, v, q.After)
		}
	}
	if err != nil {
		return h.expiredLink(w, r, v, led, err)
	}
	h.Site.Sessions.Pop(ctx, signUpSecret)
	return h.firstStepDone(w, r, e)
}

// tooManyLinks is the page for a client that tried too many invalid links.
func (h *Handler) tooManyLinks(w http.ResponseWriter, r *http.Request, v *visitor.Visitor, wait time.Duration) error {
	view := expiredLinkView{
		In: v.SignedIn(), Form: ui.Form{Fields: []ui.Field{emailField("")}}, Title: "This link is not valid",
		Text: "Too many invalid links were opened from your network: wait " + ui.RetryAfter(w.Header(), wait) +
			" before you try again. A valid link works immediately.",
	}
	return h.Site.Render(
		w,
		r,
		v,
		"expired-link",
		ui.View{Title: view.Title, Status: http.StatusTooManyRequests, NoIndex: true, Data: view},
	)
}

// expiredLinkView is the page of a link that no longer works.
type expiredLinkView struct {
	ui.Form
	Title, Text string
	In          bool // a visitor is signed in
}

// expiredLink explains why a link does not work and offers a new one. For a signed-in visitor it
// offers the page that the link led to.
func (h *Handler) expiredLink(
	w http.ResponseWriter,
	r *http.Request,
	v *visitor.Visitor,
	next string,
	err error,
) error {
	view := expiredLinkView{
		In:   v.SignedIn(),
		Form: ui.Form{Next: account.LocalPath(next), Fields: []ui.Field{emailField("")}},
	}
	status := http.StatusGone
	switch {
	case fault.Is(err, account.CodeLinkUsed):
		view.Title = "This link was used already"
		view.Text = "A sign-in link works only once."
	case fault.Is(err, account.CodeLinkExpired):
		view.Title = "This link no longer works"
		view.Text = "It has expired, or you used a newer link."
	case fault.Is(err, account.CodeInvalidLink):
		view.Title = "This link is not valid"
		view.Text = "It may be incomplete: compare it with the link in the email."
		status = http.StatusNotFound
	default:
		return err
	}
	wire.RequestLogOf(r.Context()).Err = err
	return h.Site.Render(w, r, v, "expired-link", ui.View{Title: view.Title, Status: status, NoIndex: true, Data: view})
}
