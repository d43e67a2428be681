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

// bodyLimit is the size of the largest body that is read here.
const bodyLimit = 16 << 10

// credentials are how a client proves itself in a body.
type credentials struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

// enter reads the request of a client into in, of which given is a part, and
// authenticates the client; also, if not nil, is called after that. Every endpoint for
// clients goes through here.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, in any, given *credentials, also readAlong) (partner.Partner, error) {
	if err := read(w, r, in); err != nil {
		s.nameSender(r.Context(), r, *given)
		return partner.Partner{}, err
	}
	who, err := s.authenticate(w, r, *given, also)
	if err != nil {
		return partner.Partner{}, err
	}
	note := wire.RequestLogOf(r.Context())
	note.Who, note.Partner = nameOf(who), who.ID
	return who, nil
}

// read reads the body into in. Parameters are never read from the query, where secrets
// end up in logs. One in the query is refused, so that a client that leaks them learns
// of it.
func read(w http.ResponseWriter, r *http.Request, in any) error {
	if r.URL.RawQuery != "" {
		q, err := wire.LenientQuery(r)
		if err != nil {
			return asRequest(err)
		}
		for _, name := range []string{"client_secret", "client_id", "code", "code_verifier", "refresh_token", "token", "access_token", "grant_type"} {
			if q.Has(name) {
				return fault.New(fault.Invalid, InvalidRequest,
					"The parameter %s is in the query, where it ends up in logs. Send it in the body, and replace the secret if it was one.", name).Because(causeParameter)
			}
		}
	}
	_, err := wire.Decoder{Limit: bodyLimit, IgnoreUnknown: true}.Decode(w, r, in)
	return asRequest(err)
}

// authenticate returns the client that the request proves to be from.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, body credentials, also readAlong) (partner.Partner, error) {
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

// choose returns the credentials of the request and whether they came by HTTP
// Basic. A client_id beside Basic only names the client, and some libraries always
// send it; a secret in both places is two authentications, which RFC 6749 forbids.
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
		return credentials{}, true, badRequest("The header Authorization cannot be read. It must be Basic and the base64 of client_id:client_secret, each percent-encoded.")
	}
	if body.ClientSecret != "" || body.ClientID != "" && body.ClientID != given.ClientID {
		return credentials{}, true, badRequest("There are client credentials in the body and in the header Authorization. Send them in one place.")
	}
	return given, true, nil
}

var errBasic = errors.New("not the credentials of HTTP Basic")

// basicOf reads HTTP Basic as RFC 6749 section 2.3.1 has it: both halves are
// form-encoded before they are joined.
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

// known looks the client up. Wrong credentials are counted by address and by client id,
// and answered by 429 when there were too many; right ones always pass.
func (s *Server) known(r *http.Request, c credentials, also readAlong) (partner.Partner, error) {
	if lacks := lacking(c); lacks != "" {
		s.nameSender(r.Context(), r, c)
		return partner.Partner{}, fault.New(fault.Unknown, invalidClient,
			"The request lacks %s. Send client_id and client_secret in the body, or both as HTTP Basic.", lacks).Because(causeNoCredentials)
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

// find looks credentials up and returns whose they are, or what is wrong with them.
func (s *Server) find(ctx context.Context, c credentials, also readAlong) (who partner.Partner, wrong string, err error) {
	if !isText(c.ClientID) {
		return partner.Partner{}, cmp.Or(secret.Mistaken(c.ClientID, secret.ClientID), noClient), nil
	}
	who, err = s.byClient(ctx, c, also)
	if !fault.Is(err, partner.CodeInvalidClient) {
		return who, "", err
	}
	// Which of the two it was is looked up whatever it was: client ids are known to
	// every buyer who follows a link, and the secret takes no part in this.
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

// causeOf is why client credentials are wrong, after find. It is for the log of the client
// that they name: without one there is nobody to tell.
func causeOf(ctx context.Context) string {
	if wire.RequestLogOf(ctx).Named == 0 {
		return ""
	}
	return causeSecret
}

// nameSender stores for the log which client a request names that cannot be read, or
// lacks a part of its credentials: its partner looks there for the reason. In a request
// that cannot be read the client id may stand where it must not.
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
		return nil // the request is refused whoever sent it
	})
}

// maxNamed is how many bytes of a form are read for the client that it names.
const maxNamed = 16 << 10

// Identify finds out, for the log of refused calls, which client a request names that was
// sent to a path of ours, or by a method, that does not exist. It answers nothing.
func (s *Server) Identify(r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/openid/") {
		return
	}
	r.Body = http.MaxBytesReader(nil, r.Body, maxNamed)
	_ = r.ParseForm() // what cannot be read names nobody
	s.nameSender(r.Context(), r, credentials{ClientID: r.PostForm.Get("client_id")})
}

// readAlong reads what a client asks for in the transaction that authenticates it, so
// that there is one round trip to the database and not two.
type readAlong func(ctx context.Context, tx *sqldb.Tx, who partner.Partner)

// byClient looks the client up, and what it asks for with it.
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

// What can be wrong with credentials.
const (
	noClient = "There is no application with this client_id. Copy it from your credentials; it is neither the API key nor the name."
	noSecret = "The client_secret is not one of this client_id. Compare it with that of your application; a replaced secret ends when its overlap does."
)

// lacking says which part of the credentials is missing, "" if none.
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

// nameOf is a client as the request line names it.
func nameOf(p partner.Partner) string { return "partner:" + strconv.FormatInt(p.ID, 10) }

func actor(p partner.Partner) audit.Actor {
	return audit.Actor{Kind: audit.ByPartner, ID: p.ID, Name: p.Name}
}
