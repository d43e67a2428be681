package portal

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"claviger/internal/area"
	"claviger/internal/live"
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
	*area.URLs
	Steps []setupStep
	Done  int

	ClientID string
	Try      string // URL that starts a sign-in; "" without a redirect URL
	Keys     []partner.Credential
	KeysURL  string // the page of credentials; "" without access
	Samples  setupSamples
	Calls    setupCalls
}

// setupCalls are the equivalent API calls.
type setupCalls struct{ Save, Read, Licenses ui.Curl }

// urlPages returns the page that shows the progress of the integration.
func (h *Handler) urlPages() *area.URLPages {
	return &area.URLPages{
		PartnerPages: h.partnerPages(partner.Developer), Side: h, Page: "setup", Path: setupPath,
		Save: ofPartner(changes(partner.Developer)), Checks: h.Checks,
	}
}

// URLVersions has the versions of partners with their checks.
func (h *Handler) URLVersions() *live.Versions { return h.Live.setup }

// URLsPage builds the page that shows the progress of the integration.
func (h *Handler) URLsPage(ctx context.Context, of *area.PartnerVisit, urls *area.URLs) (ui.View, error) {
	view, err := h.setupView(ctx, of.Visit.(*Visit), urls)
	return ui.View{Title: "Set-up", Data: view}, err
}

// setupView reads the progress of the integration.
func (h *Handler) setupView(ctx context.Context, v *Visit, urls *area.URLs) (setupView, error) {
	p := urls.Profile
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
		URLs: urls, Steps: setupSteps(p, keys, signedIn, endpoint.LastSuccessAt), Keys: keys,
		ClientID: v.Partner.ClientID, Samples: h.setupSamples(v.Partner, p), Try: h.authorizeURL(v.Partner, p),
		Calls: h.setupCalls(p),
	}
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
