package oauth

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"claviger/internal/fault"
)

// AuthorizePath is where applications send buyers to.
const AuthorizePath = "/openid/authorize"

// RequestAt returns the authorization request that a path of ours with its query
// makes: a form that signs somebody in and leads there may end at the application
// without another page. It is the zero Request if the path leads elsewhere or the
// request is refused.
func (s *Server) RequestAt(ctx context.Context, path string) (Request, error) {
	u, err := url.Parse(path)
	if err != nil || strings.TrimSuffix(u.Path, "/") != AuthorizePath {
		return Request{}, nil //nolint:nilerr // it is no such request, which is no failure
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

// FormTo returns where a form that connects may end, for the Content-Security-Policy
// of its page; nothing for the zero Request. Browsers apply it to every redirect
// after the form, also to those of the application, which may lead to other hosts of
// its own: so it names schemes and not the one origin that we know.
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
