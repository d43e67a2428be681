package shop

import (
	"net/http"
	"strings"
	"time"

	"claviger/internal/license"
	"claviger/internal/secret"
	"claviger/internal/visitor"
)

// chosen is the license whose button was pressed, in the session, and chosenLife
// how long that counts.
const (
	chosen     = "chosen-license"
	chosenLife = 10 * time.Minute
)

// choice is what the session notes of a button.
type choice struct {
	at      string
	license string // its redemption id
	request string // the hash of the one that it was shown for; "": none yet
}

// remember keeps which license the buyer means while the application begins the
// connection.
func (s *Shop) remember(r *http.Request, l license.License) {
	s.keep(r, choice{at: s.Now().Format(time.RFC3339), license: l.RedemptionID})
}

func (s *Shop) keep(r *http.Request, c choice) {
	s.Site.Sessions.Keep(r.Context(), chosen, strings.TrimSpace(c.at+" "+c.license+" "+c.request))
}

// remembered is the license that the buyer meant by this request, if any.
func (s *Shop) remembered(r *http.Request, a asking) (choice, bool) {
	words := append(strings.Fields(s.Site.Sessions.Kept(r.Context(), chosen)), "", "", "")
	c := choice{words[0], words[1], words[2]}
	t, err := time.Parse(time.RFC3339, c.at)
	return c, err == nil && s.Now().Sub(t) <= chosenLife && (c.request == "" || c.request == secret.Hash(a.address()))
}

// tie has the choice count for this request alone, which is about to show a page
// with it: that may be loaded again, and the application's next request is another
// matter.
func (s *Shop) tie(r *http.Request, a asking, shown []license.License) {
	if c, ok := s.remembered(r, a); ok && c.request == "" && len(shown) == 1 && shown[0].RedemptionID == c.license {
		c.request = secret.Hash(a.address())
		s.keep(r, c)
	}
}

// served forgets the choice of a license that is now connected.
func (s *Shop) served(r *http.Request, redemptionID string) {
	if strings.Contains(s.Site.Sessions.Kept(r.Context(), chosen), " "+redemptionID) {
		s.Site.Sessions.Take(r.Context(), chosen)
	}
}

// candidates are the licenses that the request may be about: the one whose button
// the buyer pressed here before the application took over, or else all.
func (s *Shop) candidates(r *http.Request, v *visitor.Visitor, a asking) ([]license.License, error) {
	if c, ok := s.remembered(r, a); ok {
		l, err := s.Licenses.ByRedemption(r.Context(), c.license)
		if err == nil && l.PartnerID == a.Partner.ID && (l.OwnerID == 0 || l.OwnerID == v.User.ID) && !l.Erased {
			return []license.License{l}, nil
		}
	}
	return s.Licenses.Redeemable(r.Context(), v.User.ID, a.Partner.ID)
}
