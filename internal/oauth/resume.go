package oauth

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"claviger/internal/fault"
)

// AuthorizePath is the path that applications send buyers to.
const AuthorizePath = "/openid/authorize"

// RequestAt returns the authorization request at one of our paths with its query. A sign-in form
// that leads there may end at the application without another page. It returns the zero Request if
// the path leads elsewhere or the request is refused.
func (s *Server) RequestAt(ctx context.Context, path string) (Request, error) {
	u, err := url.Parse(path)
	if err != nil || strings.TrimSuffix(u.Path, "/") != AuthorizePath {
		return Request{}, nil //nolint:nilerr // no such request, which is not a failure
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Request{}, nil //nolint:nilerr // likewise
	}
	req, err := s.ParseAuthorize(ctx, q)
	if _, denied := errors.AsType[*Denial](err); denied || fault.Of(err) != nil {
		return Request{}, nil
	}
	return req, err
}

// FormTo returns the form targets for the Content-Security-Policy of a page that connects; none for
// the zero Request. Browsers check every redirect after the form, also those of the application to
// its other hosts. So it names schemes, not only the origin that we know.
func (r Request) FormTo() []string {
	switch {
	case r.RedirectURL == "":
		return nil
	case strings.HasPrefix(r.RedirectURL, "http://"):
		return []string{"https:", "http:"}
	default:
		return []string{"https:"}
	}
}
