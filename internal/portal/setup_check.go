package portal

import (
	"strings"

	"claviger/docs"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/ui"
)

// setupSamples are texts to copy, in several languages.
type setupSamples struct {
	Handlers  []ui.Code // of webhooks
	Exchanges []ui.Code // of a code for tokens
}

// languages are the languages of samples: the mark in the guides, and the name.
var languages = []struct{ mark, label string }{{"go", "Go"}, {"js", "Node"}, {"python", "Python"}, {"php", "PHP"}}

// setupSamples returns the samples of the guides with the partner's own names and ids.
func (h *Handler) setupSamples(p partner.Partner, f profile.Profile) setupSamples {
	own := strings.NewReplacer(
		"X-Licensing-", "X-"+p.Brand+"-", "x-licensing-", "x-"+strings.ToLower(p.Brand)+"-",
		"X_LICENSING_", "X_"+strings.ReplaceAll(strings.ToUpper(p.Brand), "-", "_")+"_",
		"https://market.example", h.Site.Pages.PublicURL, "my-client-id", p.ClientID,
		"https://app.example.com/callback", orDefault(f.RedirectURL, "https://app.example.com/callback"),
	)
	var s setupSamples
	for _, l := range languages {
		s.Handlers = append(
			s.Handlers,
			ui.Code{Label: l.label, Text: own.Replace(strings.Join(docs.Blocks(docs.Webhooks, l.mark), "\n\n"))},
		)
		s.Exchanges = append(
			s.Exchanges,
			ui.Code{Label: l.label, Text: own.Replace(strings.Join(docs.Blocks(docs.Connect, l.mark), "\n\n"))},
		)
	}
	s.Exchanges = append([]ui.Code{{Label: "curl", Text: strings.Join([]string{
		"curl " + ui.ShellQuote(h.Site.Pages.PublicURL+"/openid/token/"),
		"-d grant_type=authorization_code", `-d "code=$CODE"`,
		"--data-urlencode " + ui.ShellQuote(
			"redirect_uri="+orDefault(f.RedirectURL, "https://app.example.com/callback"),
		),
		"-d " + ui.ShellQuote("client_id="+p.ClientID), `-d "client_secret=$CLIENT_SECRET"`,
	}, " \\\n  ")}}, s.Exchanges...)
	return s
}

// orDefault returns s, or otherwise if s is empty.
func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
