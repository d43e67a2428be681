package area

import (
	"net/http"

	"claviger/internal/export"
	"claviger/internal/outage"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/statement"
	"claviger/internal/ui"
)

// PartnerVisit is a visit to a page about one partner that the portal and the console share.
type PartnerVisit struct {
	Visit
	Partner partner.Partner
	Own     bool   // the partner's own people visit, in the portal
	Base    string // URL of the partner's pages
	API     string // prefix of the partner's API calls, such as /v2
	Tabs    func(path string) *ui.Tabs

	path string // of the subject in the table
	url  string // of the subject
	may  bool   // the person may change what the page shows
}

// Whose returns the owner of a thing, for use inside a sentence.
func (v *PartnerVisit) Whose() string { return v.either("your", "the partner's") }

// either returns the words for the partner's own people, or those for the marketplace's.
func (v *PartnerVisit) either(own, marketplace string) string {
	if v.Own {
		return own
	}
	return marketplace
}

// heading names the partner on pages of the marketplace.
func (v *PartnerVisit) heading(subject string) string {
	if v.Own {
		return subject
	}
	return subject + " of " + v.Partner.Name
}

// call returns the API call below the partner's prefix.
func (v *PartnerVisit) call(what, method, path string) ui.Curl {
	return v.Common().Area.Call(what, method, v.API+path)
}

// tabs returns the tabs of the page, nil if it has none.
func (v *PartnerVisit) tabs() *ui.Tabs {
	if v.Tabs == nil {
		return nil
	}
	return v.Tabs(v.path)
}

// render shows a page of the subject.
func (v *PartnerVisit) render(w http.ResponseWriter, r *http.Request, name string, view ui.View) error {
	return v.Common().Area.Render(w, r, v.Visit, name, view)
}

// done redirects to the page of the subject, with a message about the act.
func (v *PartnerVisit) done(w http.ResponseWriter, r *http.Request, text string) error {
	v.Common().Area.Site.Sessions.Flash(r.Context(), text)
	ui.SeeOther(w, r, v.url)
	return nil
}

// Side is the portal or the console, as pages about a partner see it.
type Side interface {
	// About reads the partner of a request.
	About(r *http.Request, v Visit) (*PartnerVisit, error)
}

// PartnerPages serves the pages about a partner that the portal and the console share. Each mounts
// them below its own prefix, by its own rule.
type PartnerPages struct {
	Side   Side
	Prefix string // of the pages in the table, such as /partners/{partner}
	Rule   Rule
	Plans  string // prefix of the pages of plans, below the partner's

	Partners *partner.Store
	Profiles *profile.Store
	TestMail *outage.TestMailer

	Statements *statement.Store // for Earnings, as Exports
	Exports    *export.Exporter
}

// subject has the rows of a subject's pages.
type subject struct {
	*PartnerPages
	path string
	rows []Route
}

func (p *PartnerPages) subject(path string) *subject {
	return &subject{PartnerPages: p, path: p.Prefix + path}
}

// about reads the partner of a request.
func (s *subject) about(r *http.Request, v Visit) (*PartnerVisit, error) {
	of, err := s.Side.About(r, v)
	if err != nil {
		return nil, err
	}
	of.path = s.path
	of.url = of.Base + s.path[len(s.Prefix):]
	of.may = v.Meets(s.Rule(Page, true))
	return of, nil
}

// add adds a row.
func (s *subject) add(kind Kind, below string, serve func(http.ResponseWriter, *http.Request, *PartnerVisit) error) {
	s.rows = append(s.rows, Route{
		Kind: kind, Path: s.path + below, Needs: s.Rule(kind, kind == Act),
		Serve: func(w http.ResponseWriter, r *http.Request, v Visit) error {
			of, err := s.about(r, v)
			if err != nil {
				return err
			}
			return serve(w, r, of)
		},
	})
}

// addAction adds the rows of an act.
func (s *subject) addAction(below string, read func(*http.Request, *PartnerVisit) (Action, error)) {
	s.rows = append(s.rows, Actions(s.path+below, s.Rule, func(r *http.Request, v Visit) (Action, error) {
		of, err := s.about(r, v)
		if err != nil {
			return Action{}, err
		}
		return read(r, of)
	})...)
}
