package console

import (
	"context"
	"fmt"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/live"
	"claviger/internal/partner"
	"claviger/internal/ui"
)

const urlsPath = partnerPath + "/urls"

// urlsView is the URLs of a partner with their last checks.
type urlsView struct {
	Partner partner.Partner
	Tabs    *ui.Tabs
	Form    ui.Form
	URLs    []urlView
	Call    ui.Curl
}

// urlView is one URL of a partner.
type urlView struct {
	*area.URL
	Says string
}

// urlPages returns the page with the URLs of a partner.
func (p *Partners) urlPages() *area.URLPages {
	return &area.URLPages{
		PartnerPages: p.shared(), Side: p, Page: "partner-urls", Path: "/urls", Save: changes(account.Admin),
		Checks: p.Checks,
	}
}

// URLVersions has the versions of partners with their checks.
func (p *Partners) URLVersions() *live.Versions { return p.Live.partners }

// URLsPage builds the page with the URLs of a partner.
func (p *Partners) URLsPage(_ context.Context, v *area.PartnerVisit, urls *area.URLs) (ui.View, error) {
	call := p.call(
		"Check and save the URLs by API", http.MethodPatch, fmt.Sprintf("/operator/v1/partners/%d", v.Partner.ID),
	)
	call.JSON = area.JSON(map[string]any{
		"redirect_url": urls.Profile.RedirectURL, "webhook_url": urls.Profile.WebhookURL, "validate": true,
	})
	return ui.View{Title: "URLs of " + v.Partner.Name, Data: urlsView{
		Partner: v.Partner, Tabs: v.Tabs(urlsPath), Form: urls.Form, Call: call,
		URLs: []urlView{
			{urls.Redirect, "Buyers who connect a license come here with a code. Without one they cannot redeem what " +
				"they have paid for."},
			{urls.Webhook, "Each change of a license is posted here, signed with the partner's webhook secret. " +
				"Without one, events wait."},
		},
	}}, nil
}
