package area

import (
	"context"
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/live"
	"claviger/internal/profile"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

// URL is a URL of a partner, with its form and its last check.
type URL struct {
	ID    string // of its section, and the end of its form's target
	Title string
	Form  URLForm
	Check URLCheck

	field profile.Field
	saved string
}

// URLs has the URLs of a partner.
type URLs struct {
	Profile  profile.Profile
	Redirect *URL
	Webhook  *URL
	Form     ui.Form // with the errors of both forms
}

// URLsSide is the portal or the console, as the page with the URLs of a partner sees it.
type URLsSide interface {
	Side
	// URLsPage returns the page. The name of its fragment is that of the page with -now.
	URLsPage(ctx context.Context, v *PartnerVisit, urls *URLs) (ui.View, error)
	// URLVersions has the versions of partners with their checks.
	URLVersions() *live.Versions
}

// URLPages serves the page with the URLs of a partner, and the forms that check and save them.
type URLPages struct {
	*PartnerPages
	Side   URLsSide
	Page   string // name of the template
	Path   string // of the page, below the partner's
	Save   Rule   // of the forms
	Checks *profile.Runs
}

// Routes returns the rows of the page.
func (u *URLPages) Routes() []Route {
	s := u.subject(u.Path)
	find := func(r *http.Request, visit Visit) (Shown, error) {
		v, err := s.about(r, visit)
		if err != nil {
			return Shown{}, err
		}
		return u.shown(v), nil
	}
	s.rows = Lives(s.path, u.Rule, find)
	s.Rule = u.Save
	for _, field := range []profile.Field{profile.Redirect, profile.Webhook} {
		s.add(Act, "/"+sectionOf(field), u.save(field))
	}
	return s.rows
}

// shown returns the page. It announces only the end of a check.
func (u *URLPages) shown(v *PartnerVisit) Shown {
	return Shown{
		Versions: u.Side.URLVersions(), Topic: v.Partner.ID, Page: u.Page,
		View: func(r *http.Request) (ui.View, string, error) {
			urls, err := u.read(r.Context(), v)
			if err != nil {
				return ui.View{}, "", err
			}
			view, err := u.Side.URLsPage(r.Context(), v, urls)
			view.Fragment = u.Page + "-now"
			last := urls.Webhook.Check
			switch {
			case urls.Redirect.Check.Running || last.Running:
				view.Refresh = 2
				return view, "", err
			case urls.Redirect.Check.At.After(last.At):
				last = urls.Redirect.Check
			}
			return view, last.says(), err
		},
	}
}

// read reads the URLs and their checks.
func (u *URLPages) read(ctx context.Context, v *PartnerVisit) (*URLs, error) {
	f, err := u.Profiles.Read(ctx, u.Profiles.DB, v.Partner.ID)
	if err != nil {
		return nil, Missing(err)
	}
	runs, err := u.Checks.Last(ctx, v.Partner.ID)
	if err != nil {
		return nil, err
	}
	one := func(field profile.Field, title, saved string) *URL {
		url := &URL{ID: sectionOf(field), Title: title, Check: newURLCheck(runs, field), field: field, saved: saved}
		url.Form = URLForm{
			Field: urlField(field, title, saved, url.Check), Action: v.url + "/" + url.ID,
			May:     v.Meets(u.Save(Act, true)),
			Instead: v.either("A developer or an admin of your team can save it.", "An admin can save one."),
		}
		if !v.Own {
			url.Form.Hidden = []ui.Param{url.seen().Param()}
		}
		return url
	}
	return &URLs{
		Profile:  f,
		Redirect: one(profile.Redirect, "Redirect URL", f.RedirectURL),
		Webhook:  one(profile.Webhook, "Webhook URL", f.WebhookURL),
	}, nil
}

// urlField returns the field of a URL. It shows a URL that is being checked, or one that failed,
// for correction.
func urlField(field profile.Field, label, saved string, check URLCheck) ui.Field {
	f := ui.Field{Name: string(field), Label: label, Type: "url", Value: saved, Autocomplete: "off", Required: true}
	if check.State != "" && check.State != string(profile.Passed) {
		f.Value = check.URL
	}
	return f
}

// of returns the URL of a field.
func (u *URLs) of(field profile.Field) *URL {
	if field == profile.Redirect {
		return u.Redirect
	}
	return u.Webhook
}

// refuse writes the error of a URL and the typed text into its form. An error without a field is
// put at the URL.
func (u *URLs) refuse(field profile.Field, typed string, refused *fault.Error) {
	u.Form.Fields = []ui.Field{u.Redirect.Form.Field, u.Webhook.Form.Field}
	for i := range u.Form.Fields {
		if u.Form.Fields[i].Name == string(field) {
			u.Form.Fields[i].Value = typed
		}
	}
	if refused.Field == "" {
		u.Form = u.Form.WithError(string(field), refused.Text)
	} else {
		u.Form.Refuse(refused)
	}
	u.Redirect.Form.Field = u.Form.Fields[0]
	u.Webhook.Form.Field = u.Form.Fields[1]
}

// seen returns the state of a URL that a page showed.
func (u *URL) seen() Seen {
	return Seen{Version: "url:" + u.saved, Facts: []Fact{{Name: u.Title, Value: u.saved}}}
}

// save returns the function that starts the check of a URL. The page shows its progress.
func (u *URLPages) save(field profile.Field) func(http.ResponseWriter, *http.Request, *PartnerVisit) error {
	return func(w http.ResponseWriter, r *http.Request, v *PartnerVisit) error {
		if err := ui.ReadForm(r); err != nil {
			return err
		}
		urls, err := u.read(r.Context(), v)
		if err != nil {
			return err
		}
		url := urls.of(field)
		typed := ui.FormText(r, string(field))
		if !v.Own {
			err = url.seen().Unchanged(r)
		}
		if err == nil {
			may := func(ctx context.Context) error { return v.Common().Area.Recheck(ctx, r, v.Visit) }
			err = u.Checks.Start(r.Context(), v.Actor(), v.Partner.ID, field, typed, may)
		}
		switch refused := fault.Of(err); {
		case refused != nil:
			urls.refuse(field, typed, refused)
			view, err := u.Side.URLsPage(r.Context(), v, urls)
			if err != nil {
				return err
			}
			view.Status = wire.Status(refused.Kind)
			return v.render(w, r, u.Page, view)
		case err != nil:
			return err
		case typed == "":
			v.Common().Area.Site.Sessions.Flash(r.Context(), "The URL was removed.")
		}
		ui.SeeOther(w, r, v.url+"#"+url.ID)
		return nil
	}
}
