package wire

import (
	"net/http"
	"strings"

	"claviger/internal/fault"
)

// Handler serves a request of an authenticated caller. Fail answers its error; nil means that it
// has answered.
type Handler[P any] func(w http.ResponseWriter, r *http.Request, who P) error

// AuthRoutes makes routes for authenticated callers. P is the type of a caller, such as
// a partner or an operator's token.
type AuthRoutes[P any] struct {
	// Authenticate returns the caller. It returns a fault of kind Unknown if the credentials are
	// missing (code NoCredentials) or wrong.
	Authenticate func(r *http.Request) (P, error)

	// Recall returns a caller that Authenticate returned before, without checking that the
	// credentials are still valid. It is for RouteRecalling.
	Recall func(r *http.Request) (P, bool)

	// Name is the caller in the request line, such as "partner:3". It must not be a secret. It is
	// also the key of the rate limit, unless Bucket is set.
	Name func(P) string

	// Bucket returns the key of the rate limit, if it is not the name.
	Bucket func(r *http.Request, who P) string

	// Limit is the rate limit per caller. Nil: no limit.
	Limit *Limiter

	// Guard throttles client addresses that present wrong credentials. Right ones are always
	// served. Nil: no guard.
	Guard *Guard

	// Readers limits the resources with which GET requests read, such as database connections.
	// Bytes limits the unsent bytes of their answers. Each caller has a share of both, under its
	// name. Nil: no limit.
	Readers, Bytes *Share
}

// Route makes a route for authenticated callers without query parameters: a request with any is
// refused. Each function of may checks in turn whether this caller is allowed; the first error is
// the answer.
func (d *AuthRoutes[P]) Route(method, path string, h Handler[P], may ...func(P) error) Route {
	return d.RouteWithQuery(method, path, func(w http.ResponseWriter, r *http.Request, who P) error {
		if r.URL.RawQuery != "" {
			if _, err := Query(r); err != nil {
				return err
			}
		}
		return h(w, r, who)
	}, may...)
}

// RouteWithQuery is Route for a handler that reads the query, with Query.
func (d *AuthRoutes[P]) RouteWithQuery(method, path string, h Handler[P], may ...func(P) error) Route {
	var answers sizes
	return Route{Method: method, Path: path, handle: func(w http.ResponseWriter, r *http.Request) error {
		who, err := d.enter(w, r)
		if err != nil {
			return err
		}
		for _, ask := range may {
			if err := ask(who); err != nil {
				return err
			}
		}
		if method != http.MethodGet || d.Readers == nil && d.Bytes == nil {
			return h(w, r, who)
		}
		answer, err := d.admit(r.Context(), w, d.Name(who), &answers)
		if err != nil {
			return err
		}
		defer answer.finish()
		return h(answer, r, who)
	}}
}

// RouteRecalling is Route for a handler that itself refuses callers with revoked credentials, along
// with its other reads. Known callers are then not looked up first. They are looked up before any
// other refusal is answered.
func (d *AuthRoutes[P]) RouteRecalling(method, path string, h Handler[P], may ...func(P) error) Route {
	quick := *d
	quick.Authenticate = func(r *http.Request) (P, error) {
		if who, ok := d.Recall(r); ok {
			return who, nil
		}
		return d.Authenticate(r)
	}
	route := quick.Route(method, path, h, may...)
	handle := route.handle
	route.handle = func(w http.ResponseWriter, r *http.Request) error {
		err := handle(w, r)
		if err == nil {
			return nil
		}
		if _, recalled := d.Recall(r); !recalled {
			return err
		}
		if _, gone := d.Authenticate(r); fault.Of(gone) != nil && fault.Of(gone).Kind == fault.Unknown {
			RequestLogOf(r.Context()).Who = ""
			Quota{}.Header(w.Header())
			return d.failed(r, gone)
		}
		return err
	}
	return route
}

// enter authenticates the caller and counts the call.
func (d *AuthRoutes[P]) enter(w http.ResponseWriter, r *http.Request) (P, error) {
	var nobody P
	var who P
	err := d.Guard.Lookup(r, func() (err error) {
		who, err = d.Authenticate(r)
		return err
	})
	if err != nil {
		return nobody, d.failed(r, err)
	}
	name := d.Name(who)
	RequestLogOf(r.Context()).Who = name
	if d.Bucket != nil {
		name = d.Bucket(r, who)
	}
	quota := d.Limit.Take(name)
	quota.Header(w.Header())
	if !quota.OK {
		f := fault.New(
			fault.Throttled,
			CodeRateLimited,
			"Too many requests: %d a minute are allowed. Wait as long as Retry-After says.",
			quota.Limit,
		)
		f.After = quota.After
		return nobody, f
	}
	return who, nil
}

// failed counts a failed authentication and returns the error to answer. A request without
// credentials is not a guess.
func (d *AuthRoutes[P]) failed(r *http.Request, err error) error {
	f := fault.Of(err)
	if f == nil || f.Kind != fault.Unknown || f.Code == NoCredentials {
		return err
	}
	q := d.Guard.Count(Client(r))
	if q.OK {
		return err
	}
	f = fault.New(
		fault.Throttled,
		codeTooManyFailures,
		"%s Too many calls with wrong credentials came from this address: wait as long as Retry-After says before "+
			"the next try.",
		f.Text,
	)
	f.After = q.After
	return f
}

// NoCredentials is the code of a request without credentials. It does not count as a guess.
const NoCredentials = "missing_credentials"

// Credential returns the secret of a request: a bearer token, or the value of one of the headers.
// Without one, or with another Authorization scheme, it returns a fault that says where else a
// secret seems to be.
func Credential(r *http.Request, isSecret func(string) bool, headers ...string) (string, error) {
	for _, name := range headers {
		if v := strings.TrimSpace(r.Header.Get(name)); v != "" {
			return v, nil
		}
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if token = strings.TrimSpace(token); strings.EqualFold(scheme, "Bearer") && token != "" {
		return token, nil
	}
	hint := "Authorization: Bearer <secret>"
	if len(headers) > 0 {
		hint += " or " + headers[0] + ": <secret>"
	}
	lacks := "This call needs credentials."
	if text := Misplaced(r, isSecret); text != "" {
		lacks = text
	}
	return "", fault.New(fault.Unknown, NoCredentials, "%s Send the header %s.", lacks, hint)
}
