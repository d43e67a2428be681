package portal

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"claviger/internal/area"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/ui"
)

const setupPath = "/setup"

// setupStep is one step of the checklist.
type setupStep struct {
	ID    string // of its section
	Title string
	Done  bool
	At    time.Time // when it was done; zero if unknown
	Now   string    // the missing step
}

// setupView is the page that guides through the integration.
type setupView struct {
	Steps    []setupStep
	Done     int
	Form     ui.Form // the URLs
	May      bool    // the person may save them
	Base     string  // of the form's addresses
	Redirect area.URLCheck
	Webhook  area.URLCheck

	ClientID string
	Try      string // URL that starts a sign-in; "" without a redirect URL
	Keys     []partner.Credential
	KeysURL  string // the page of credentials; "" without access
	Samples  setupSamples
	Calls    setupCalls
}

// setupCalls are the equivalent API calls.
type setupCalls struct{ Save, Read, Licenses ui.Curl }

// Step returns a step of the checklist.
func (v setupView) Step(id string) setupStep {
	for _, s := range v.Steps {
		if s.ID == id {
			return s
		}
	}
	return setupStep{}
}

// last returns the later of the two checks.
func (v setupView) last() area.URLCheck {
	if v.Redirect.Since(v.Webhook) {
		return v.Redirect
	}
	return v.Webhook
}

// setup shows the progress of the integration.
func (h *Handler) setup(_ *http.Request, v *Visit) (area.Shown, error) {
	return area.Shown{
		Versions: h.Live.setup, Topic: v.Partner.ID, Page: "setup",
		View: func(r *http.Request) (ui.View, string, error) {
			view, err := h.setupView(r.Context(), v)
			page := ui.View{Title: "Set-up", Fragment: "setup-now", Data: view}
			if view.Redirect.Running || view.Webhook.Running {
				page.Refresh = 2
				return page, "", err // only the end of a check is announced
			}
			return page, view.last().Says(), err
		},
	}, nil
}

// saveURL starts the check of a URL. The page shows its progress.
func (h *Handler) saveURL(field profile.Field) Serve {
	return func(w http.ResponseWriter, r *http.Request, v *Visit) error {
		if err := ui.ReadForm(r); err != nil {
			return err
		}
		typed := ui.FormText(r, string(field))
		err := h.Checks.Start(r.Context(), v.Actor(), v.Partner.ID, field, typed, func(ctx context.Context) error {
			return h.area.Recheck(ctx, r, v)
		})
		if fault.Of(err) != nil {
			view, viewErr := h.setupView(r.Context(), v)
			if viewErr != nil {
				return viewErr
			}
			area.RefuseURL(&view.Form, field, typed, err)
			return h.render(
				w, r, v, "setup", ui.View{Title: "Set-up", Status: http.StatusUnprocessableEntity, Data: view},
			)
		}
		if err != nil {
			return err
		}
		if typed == "" {
			h.Site.Sessions.Flash(r.Context(), "The URL was removed.")
		}
		ui.SeeOther(w, r, v.Path("%s#%s", setupPath, area.SectionOf(field)))
		return nil
	}
}

// setupView reads the progress of the integration.
func (h *Handler) setupView(ctx context.Context, v *Visit) (setupView, error) {
	p, err := h.Profiles.Read(ctx, h.Profiles.DB, v.Partner.ID)
	if err != nil {
		return setupView{}, err
	}
	runs, err := h.Checks.Last(ctx, v.Partner.ID)
	if err != nil {
		return setupView{}, err
	}
	keys, err := h.Partners.ListCredentials(ctx, v.Partner.ID)
	if err != nil {
		return setupView{}, err
	}
	signedIn, err := h.Profiles.FirstSignIn(ctx, v.Partner.ID)
	if err != nil {
		return setupView{}, err
	}
	endpoint, err := h.Webhooks.EndpointHealth(ctx, v.Partner.ID)
	if err != nil {
		return setupView{}, err
	}
	view := setupView{
		Steps: setupSteps(p, keys, signedIn, endpoint.LastSuccessAt),
		May:   v.Meets(ofPartner(row(Act, "", partner.Developer, nil)).Needs), Keys: keys,
		Base: v.Path(setupPath), ClientID: v.Partner.ClientID, Redirect: area.NewURLCheck(runs, profile.Redirect),
		Webhook: area.NewURLCheck(runs, profile.Webhook),
		Samples: h.setupSamples(v.Partner, p), Try: h.authorizeURL(v.Partner, p),
		Calls: h.setupCalls(p),
	}
	view.Form = ui.Form{Fields: []ui.Field{
		area.URLField(profile.Redirect, "Redirect URL", p.RedirectURL, view.Redirect),
		area.URLField(profile.Webhook, "Webhook URL", p.WebhookURL, view.Webhook),
	}}
	for _, s := range view.Steps {
		if s.Done {
			view.Done++
		}
	}
	if h.has("/credentials", v) {
		view.KeysURL = v.Path("/credentials")
	}
	return view, nil
}

// setupCalls returns the calls that save and read URLs, and the first call of a new key.
func (h *Handler) setupCalls(p profile.Profile) setupCalls {
	save := h.call("Save the URLs by API", http.MethodPut, "/v2/profile")
	save.Form = []ui.Param{
		{Name: "redirect_url", Value: orDefault(p.RedirectURL, "https://app.example.com/callback")},
		{Name: "webhook_url", Value: orDefault(p.WebhookURL, "https://app.example.com/webhook")},
	}
	return setupCalls{
		Save: save, Read: h.call("Read the URLs by API", http.MethodGet, "/v2/profile"),
		Licenses: h.call("List your licenses", http.MethodGet, "/v2/licenses"),
	}
}

// setupSteps returns the checklist.
func setupSteps(p profile.Profile, keys []partner.Credential, signedIn, delivered time.Time) []setupStep {
	var used time.Time
	for _, k := range keys {
		if k.What == partner.APIKey && k.LastUsedAt.After(used) {
			used = k.LastUsedAt
		}
	}
	return []setupStep{
		{
			ID: "redirect-url", Title: "Redirect URL", Done: !p.RedirectValidAt.IsZero(), At: p.RedirectValidAt,
			Now: unchecked(p.RedirectURL),
		},
		{
			ID: "webhook-url", Title: "Webhook URL", Done: p.WebhookURL != "" && !p.WebhookValidAt.IsZero(),
			At: p.WebhookValidAt, Now: unchecked(p.WebhookURL),
		},
		{
			ID: "credentials", Title: "Credentials", Done: !used.IsZero(), At: used,
			Now: "No call with your API key has come yet.",
		},
		{
			ID: "test-event", Title: "First test event taken", Done: p.WebhookURL != "" && !p.WebhookValidAt.IsZero(),
			At: p.WebhookValidAt, Now: "Saving the webhook URL sends test events.",
		},
		{
			ID: "sign-in", Title: "First sign-in exchanged", Done: !signedIn.IsZero(), At: signedIn,
			Now: "No code was exchanged yet.",
		},
		{
			ID: "delivery", Title: "First real delivery", Done: !delivered.IsZero(), At: delivered,
			Now: "No real event was delivered yet.",
		},
	}
}

// unchecked describes the next step for a URL that is not validated.
func unchecked(url string) string {
	if url == "" {
		return "Not saved yet."
	}
	return "Saved, but not checked yet: save it again to check it."
}

// authorizeURL returns the URL that starts a sign-in from the partner's side.
func (h *Handler) authorizeURL(p partner.Partner, f profile.Profile) string {
	if f.RedirectURL == "" {
		return ""
	}
	q := url.Values{
		"response_type": {"code"}, "client_id": {p.ClientID}, "scope": {"openid read_license"},
		"redirect_uri": {f.RedirectURL},
	}
	return h.Site.Pages.PublicURL + "/openid/authorize?" + q.Encode()
}
