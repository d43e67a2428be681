package shop

import (
	"net/http"
	"strings"
	"time"

	"claviger/internal/license"
	"claviger/internal/secret"
	"claviger/internal/visitor"
)

// chosen is the session's record of the license with the pressed button, and chosenLife its
// lifetime.
const (
	chosen     = "chosen-license"
	chosenLife = 10 * time.Minute
)

// choice is that record.
type choice struct {
	at      string
	license string // its redemption id
	request string // hash of the request that showed it; "" if none yet
}

// storeChoice records the chosen license before the application starts the connection.
func (s *Shop) storeChoice(r *http.Request, l license.License) {
	s.putChoice(r, choice{at: s.Now().Format(time.RFC3339), license: l.RedemptionID})
}

func (s *Shop) putChoice(r *http.Request, c choice) {
	s.Site.Sessions.Put(r.Context(), chosen, strings.TrimSpace(c.at+" "+c.license+" "+c.request))
}

// readChoice returns the license that the buyer chose for this request, if any.
func (s *Shop) readChoice(r *http.Request, a authorization) (choice, bool) {
	words := append(strings.Fields(s.Site.Sessions.Get(r.Context(), chosen)), "", "", "")
	c := choice{words[0], words[1], words[2]}
	t, err := time.Parse(time.RFC3339, c.at)
	return c, err == nil && s.Now().Sub(t) <= chosenLife && (c.request == "" || c.request == secret.Hash(a.path()))
}

// bindChoice limits the choice to this request, which is about to show a page with it: that page
// may be reloaded, but the application's next request is a new one.
func (s *Shop) bindChoice(r *http.Request, a authorization, shown []license.License) {
	if c, ok := s.readChoice(r, a); ok && c.request == "" && len(shown) == 1 && shown[0].RedemptionID == c.license {
		c.request = secret.Hash(a.path())
		s.putChoice(r, c)
	}
}

// removeChoice removes the choice of a license that is connected now.
func (s *Shop) removeChoice(r *http.Request, redemptionID string) {
	if strings.Contains(s.Site.Sessions.Get(r.Context(), chosen), " "+redemptionID) {
		s.Site.Sessions.Pop(r.Context(), chosen)
	}
}

// candidates returns the possible licenses for the request: the one chosen before the application
// started, or all of them.
func (s *Shop) candidates(r *http.Request, v *visitor.Visitor, a authorization) ([]license.License, error) {
	if c, ok := s.readChoice(r, a); ok {
		l, err := s.Licenses.ByRedemption(r.Context(), c.license)
		if err == nil && l.PartnerID == a.Partner.ID && (l.OwnerID == 0 || l.OwnerID == v.User.ID) && !l.Erased {
			return []license.License{l}, nil
		}
	}
	return s.Licenses.Redeemable(r.Context(), v.User.ID, a.Partner.ID)
}
