package console

import (
	"context"
	"fmt"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

const urlsPath = partnerPath + "/urls"

// urlsView is the URLs of a partner with their last checks.
type urlsView struct {
	Partner partner.Partner
	Tabs    ui.Tabs
	Form    ui.Form
	URLs    []urlView
	Call    ui.Curl
}

// urlView is one URL of a partner.
type urlView struct {
	ID    string
	Title string
	Says  string
	Form  area.URLForm
	Check area.URLCheck
}

// urlTexts describe the URLs.
var urlTexts = []struct {
	field       profile.Field
	title, says string
}{
	{
		profile.Redirect,
		"Redirect URL",
		"Buyers who connect a license come here with a code. Without one they cannot redeem what they have paid for.",
	},
	{
		profile.Webhook,
		"Webhook URL",
		"Each change of a license is posted here, signed with the partner's webhook secret. Without one, events wait.",
	},
}

// urls shows the URLs of a partner, with live results of their checks.
func (p *Partners) urls(r *http.Request, v *Visit) (area.Shown, error) {
	one, _, err := p.one(r)
	if err != nil {
		return area.Shown{}, err
	}
	return area.Shown{
		Versions: p.Live.partners, Topic: one.ID, Page: "partner-urls",
		View: func(r *http.Request) (ui.View, string, error) {
			view, err := p.urlsView(r, v)
			page := ui.View{Title: "URLs of " + one.Name, Fragment: "partner-urls-now", Data: view}
			if err != nil {
				return page, "", err
			}
			redirect := view.URLs[0].Check
			last := view.URLs[1].Check
			if redirect.Running || last.Running {
				page.Refresh = 2
				return page, "", nil // only the end of a check is announced
			}
			if redirect.Since(last) {
				last = redirect
			}
			return page, last.Says(), nil
		},
	}, nil
}

// seenURL returns the state of a URL that a page showed.
func seenURL(title, saved string) area.Seen {
	return area.Seen{Version: "url:" + saved, Facts: []area.Fact{{Name: title, Value: saved}}}
}

// urlsView reads the URLs and their checks.
func (p *Partners) urlsView(r *http.Request, v *Visit) (urlsView, error) {
	one, f, err := p.one(r)
	if err != nil {
		return urlsView{}, err
	}
	runs, err := p.Checks.Last(r.Context(), one.ID)
	if err != nil {
		return urlsView{}, err
	}
	view := urlsView{
		Partner: one, Tabs: p.tabs(v, one, urlsPath),
		Call: p.call(
			"Check and save the URLs by API",
			http.MethodPatch,
			fmt.Sprintf("/operator/v1/partners/%d", one.ID),
		),
	}
	view.Call.JSON = area.JSON(
		map[string]any{"redirect_url": f.RedirectURL, "webhook_url": f.WebhookURL, "validate": true},
	)
	saved := map[profile.Field]string{profile.Redirect: f.RedirectURL, profile.Webhook: f.WebhookURL}
	for _, t := range urlTexts {
		check := area.NewURLCheck(runs, t.field)
		id := area.SectionOf(t.field)
		field := area.URLField(t.field, t.title, saved[t.field], check)
		view.Form.Fields = append(view.Form.Fields, field)
		view.URLs = append(view.URLs, urlView{ID: id, Title: t.title, Says: t.says, Check: check, Form: area.URLForm{
			Field: field, Action: v.Path("%s/%s", ofPartner(urlsPath, one.ID), id),
			Hidden: []ui.Param{seenURL(t.title, saved[t.field]).Param()},
			May:    v.May(account.Admin), Instead: "An admin can save one.",
		}})
	}
	return view, nil
}

// saveURL starts the check of a URL. The page shows its progress.
func (p *Partners) saveURL(index int) Serve {
	text := urlTexts[index]
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		if err := ui.ReadForm(r); err != nil {
			return err
		}
		one, f, err := p.one(r)
		if err != nil {
			return err
		}
		saved := f.WebhookURL
		typed := ui.FormText(r, string(text.field))
		if text.field == profile.Redirect {
			saved = f.RedirectURL
		}
		err = seenURL(text.title, saved).Unchanged(r)
		if err == nil {
			err = p.Checks.Start(
				r.Context(),
				v.Actor(),
				one.ID,
				text.field,
				typed,
				func(ctx context.Context) error { return p.area.Recheck(ctx, r, v) },
			)
		}
		switch refused := fault.Of(err); {
		case refused != nil:
			view, err := p.urlsView(r, v)
			if err != nil {
				return err
			}
			area.RefuseURL(&view.Form, text.field, typed, refused)
			view.URLs[index].Form.Field = view.Form.Fields[index]
			return p.render(
				w,
				r,
				v,
				"partner-urls",
				ui.View{Title: "URLs of " + one.Name, Status: wire.Status(refused.Kind), Data: view},
			)
		case err != nil:
			return err
		case typed == "":
			return p.area.Done(w, r, v, ofPartner(urlsPath, one.ID), "The URL was removed.")
		}
		ui.SeeOther(w, r, v.Path("%s#%s", ofPartner(urlsPath, one.ID), area.SectionOf(text.field)))
		return nil
	}
}
