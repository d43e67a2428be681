package oauth

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/wire"
)

// bodyLimit is the maximum size of a request body.
const bodyLimit = 16 << 10

// credentials are a client's credentials in a body.
type credentials struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

// enter decodes a client's request into in, which contains given, and authenticates the client.
// Then it calls also, unless nil. Every endpoint for clients starts with it.
func (s *Server) enter(
	w http.ResponseWriter,
	r *http.Request,
	in any,
	given *credentials,
	also readAlong,
) (partner.Partner, error) {
	if err := decodeForm(w, r, in); err != nil {
		s.nameSender(r.Context(), r, *given)
		return partner.Partner{}, err
	}
	who, err := s.authenticate(w, r, *given, also)
	if err != nil {
		return partner.Partner{}, err
	}
	note := wire.RequestLogOf(r.Context())
	note.Who = nameOf(who)
	note.Partner = who.ID
	return who, nil
}

// decodeForm decodes the body into in. It never reads parameters from the query, where secrets end up in
// logs. A query is refused, so that the client's developer notices the leak.
func decodeForm(w http.ResponseWriter, r *http.Request, in any) error {
	if r.URL.RawQuery != "" {
		q, err := wire.LenientQuery(r)
		if err != nil {
			return asRequest(err)
		}
		for _, name := range []string{
			"client_secret", "client_id", "code", "code_verifier", "refresh_token", "token", "access_token",
			"grant_type",
		} {
			if q.Has(name) {
				return fault.New(
					fault.Invalid,
					InvalidRequest,
					"The parameter %s is in the query, where it ends up in logs. Send it in the body, and replace "+
						"the secret if it was one.",
					name,
				).Because(causeParameter)
			}
		}
	}
	_, err := wire.Decoder{Limit: bodyLimit, IgnoreUnknown: true}.Decode(w, r, in)
	return asRequest(err)
}

// authenticate returns the client that sent the request.
func (s *Server) authenticate(
	w http.ResponseWriter,
	r *http.Request,
	body credentials,
	also readAlong,
) (partner.Partner, error) {
	given, basic, err := choose(r, body)
	if err != nil {
		return partner.Partner{}, err
	}
	who, err := s.known(r, given, also)
	if f := fault.Of(err); f != nil && f.Kind == fault.Unknown && (basic || given == (credentials{})) {
		w.Header().Set("WWW-Authenticate", `Basic realm="token", charset="UTF-8"`)
	}
	return who, err
}

// choose returns the credentials of the request and whether they came by HTTP Basic. A client_id
// beside Basic only names the client; some libraries always send it. A secret in both places is two
// authentications, which RFC 6749 forbids.
func choose(r *http.Request, body credentials) (credentials, bool, error) {
	headers := r.Header["Authorization"]
	if len(headers) > 1 {
		return credentials{}, false, badRequest("The header Authorization was sent more than once. Send it once.")
	}
	if len(headers) == 0 {
		return body, false, nil
	}
	scheme, text, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Basic") {
		return body, false, nil
	}
	given, err := basicOf(text)
	if err != nil {
		return credentials{}, true, badRequest(
			"The header Authorization cannot be read. It must be Basic and the base64 of client_id:client_secret, " +
				"each percent-encoded.",
		)
	}
	if body.ClientSecret != "" || body.ClientID != "" && body.ClientID != given.ClientID {
		return credentials{}, true, badRequest(
			"There are client credentials in the body and in the header Authorization. Send them in one place.",
		)
	}
	return given, true, nil
}

var errBasic = errors.New("not the credentials of HTTP Basic")

// basicOf decodes HTTP Basic by RFC 6749 section 2.3.1: both halves are form-encoded before they
// are joined.
func basicOf(text string) (credentials, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return credentials{}, errBasic
	}
	id, password, ok := strings.Cut(string(raw), ":")
	if !ok {
		return credentials{}, errBasic
	}
	var c credentials
	if c.ClientID, err = url.QueryUnescape(id); err != nil {
		return credentials{}, errBasic
	}
	if c.ClientSecret, err = url.QueryUnescape(password); err != nil {
		return credentials{}, errBasic
	}
	return c, nil
}

// known looks up the client. It counts wrong credentials by address and by client id, and answers
// 429 when there are too many. Right credentials always pass.
func (s *Server) known(r *http.Request, c credentials, also readAlong) (partner.Partner, error) {
	if lacks := lacking(c); lacks != "" {
		s.nameSender(r.Context(), r, c)
		return partner.Partner{}, fault.New(
			fault.Unknown,
			invalidClient,
			"The request lacks %s. Send client_id and client_secret in the body, or both as HTTP Basic.",
			lacks,
		).Because(causeNoCredentials)
	}
	var (
		who   partner.Partner
		wrong string
	)
	ctx := r.Context()
	err := s.Guard.Lookup(r, func() (err error) {
		who, wrong, err = s.find(ctx, c, also)
		return err
	})
	if err != nil || wrong == "" {
		return who, err
	}
	if q := s.Guard.Count(wire.Client(r), "client "+secret.Hash(c.ClientID)); !q.OK {
		f := fault.New(fault.Throttled, unavailable,
			"%s There were too many such requests: wait as long as Retry-After says, then send the right ones.", wrong)
		f.After = q.After
		return partner.Partner{}, f.Because(causeOf(ctx))
	}
	return partner.Partner{}, fault.New(fault.Unknown, invalidClient, "%s", wrong).Because(causeOf(ctx))
}

// find looks up credentials and returns their partner, or the reason why they are wrong.
func (s *Server) find(
	ctx context.Context,
	c credentials,
	also readAlong,
) (who partner.Partner, wrong string, err error) {
	if !isText(c.ClientID) {
		return partner.Partner{}, cmp.Or(secret.Mistaken(c.ClientID, secret.ClientID), noClient), nil
	}
	who, err = s.byClient(ctx, c, also)
	if !fault.Is(err, partner.CodeInvalidClient) {
		return who, "", err
	}
	// Which of the two is wrong is always looked up. That reveals nothing: every buyer who follows
	// a link sees the client id, and the lookup does not use the secret.
	switch named, err := s.Partners.ByClientID(ctx, c.ClientID); {
	case err == nil:
		wire.RequestLogOf(ctx).Named = named.ID
		return partner.Partner{}, cmp.Or(secret.Mistaken(c.ClientSecret, secret.ClientSecret), noSecret), nil
	case fault.Is(err, partner.CodeUnknownPartner):
		return partner.Partner{}, cmp.Or(secret.Mistaken(c.ClientID, secret.ClientID), noClient), nil
	default:
		return partner.Partner{}, "", err
	}
}

// causeOf returns why client credentials are wrong, after find. It is for the log of the client
// they name, and empty without one.
func causeOf(ctx context.Context) string {
	if wire.RequestLogOf(ctx).Named == 0 {
		return ""
	}
	return causeSecret
}

// nameSender stores, for the log, which client sent a request that cannot be read or lacks
// credentials. Its partner looks there for the reason. In an unreadable request the client id may
// be in the wrong place.
func (s *Server) nameSender(ctx context.Context, r *http.Request, c credentials) {
	if header, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Basic "); ok && c.ClientID == "" {
		c, _ = basicOf(header)
	}
	c.ClientID = cmp.Or(c.ClientID, r.URL.Query().Get("client_id"))
	if c.ClientID == "" {
		return
	}
	_ = s.Guard.Lookup(r, func() error {
		if p, err := s.Partners.ByClientID(ctx, c.ClientID); err == nil {
			wire.RequestLogOf(ctx).Named = p.ID
		}
		return nil // the request is refused in any case
	})
}

// maxNamed is the maximum size of a form that is searched for a client id.
const maxNamed = 16 << 10

// Identify finds, for the log of refused calls, the client that sent a request to an unknown path
// or with an unknown method. It answers nothing.
func (s *Server) Identify(r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/openid/") {
		return
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxNamed)
	_ = r.ParseForm() // an unreadable form names no client
	s.nameSender(r.Context(), r, credentials{ClientID: r.PostForm.Get("client_id")})
}

// readAlong reads the requested data in the transaction that authenticates the client. This saves a
// round trip to the database.
type readAlong func(ctx context.Context, tx *sqldb.Tx, who partner.Partner)

// byClient looks up the client together with the requested data.
func (s *Server) byClient(ctx context.Context, c credentials, also readAlong) (who partner.Partner, err error) {
	if also == nil {
		return s.Partners.ByClient(ctx, s.DB, c.ClientID, c.ClientSecret)
	}
	err = s.DB.Read(ctx, func(tx *sqldb.Tx) (err error) {
		if who, err = s.Partners.ByClient(ctx, tx, c.ClientID, c.ClientSecret); err == nil {
			also(ctx, tx, who)
		}
		return err
	})
	return who, err
}

// Reasons why credentials are wrong.
const (
	noClient = "There is no application with this client_id. Copy it from your credentials; it is neither the API " +
		"key nor the name."
	noSecret = "The client_secret is not one of this client_id. Compare it with that of your application; a " +
		"replaced secret ends when its overlap does."
)

// lacking returns which part of the credentials is missing, or "".
func lacking(c credentials) string {
	switch {
	case c == credentials{}:
		return "client credentials"
	case c.ClientID == "":
		return "client_id"
	case c.ClientSecret == "":
		return "client_secret"
	}
	return ""
}

// nameOf returns the client's name in the request line.
func nameOf(p partner.Partner) string { return "partner:" + strconv.FormatInt(p.ID, 10) }

func actor(p partner.Partner) audit.Actor {
	return audit.Actor{Kind: audit.ByPartner, ID: p.ID, Name: p.Name}
}
