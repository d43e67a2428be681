package operator

import (
	"net/http"
	"strconv"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/job"
	"claviger/internal/mail"
	"claviger/internal/oauth"
	"claviger/internal/revenue"
	"claviger/internal/sqldb"
	"claviger/internal/stats"
	"claviger/internal/today"
	"claviger/internal/wire"
)

// Service has the data of the service itself.
type Service struct {
	DB       *sqldb.DB
	Today    *today.Store
	Mail     *mail.Outbox
	Keys     *oauth.Keys
	Stats    *stats.Store
	Revenue  *revenue.Store
	Settings []Setting // in force
}

// Setting is a setting in force: its displayable value and its source.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// serviceRoutes returns the routes about the service itself.
func (o *Operator) serviceRoutes(
	on func(account.Scope, string, string, wire.Handler[account.Token]) wire.Route,
	list func(string, wire.Handler[account.Token]) wire.Route,
) []wire.Route {
	return []wire.Route{
		on(account.Read, "GET", "/today", o.today),
		list("/outages", o.listOutages),
		on(account.Support, "POST", "/partners/{id}/try", o.tryEndpoint),
		list("/mails", o.listMails),
		on(account.Support, "POST", "/mails/{id}/send", o.sendMail),
		on(account.Support, "POST", "/mails/{id}/dismiss", o.dismissMail),
		on(account.Read, "GET", "/jobs", o.listJobs),
		on(account.Admin, "GET", "/tokens", o.listTokens),
		on(account.Admin, "POST", "/tokens/{id}/revoke", o.revokeToken),
		on(account.Read, "GET", "/keys", o.listKeys),
		on(account.Admin, "POST", "/keys/rotate", o.rotateKeys),
		on(account.Admin, "POST", "/keys/{kid}/revoke", o.revokeKey),
		on(account.Read, "GET", "/settings", o.listSettings),
		on(account.Read, "GET", "/stats", o.stats),
		list("/stats/sales", o.salesStats),
		list("/revenue", o.revenue),
		list("/audit", o.listAudit),
	}
}

// todayJSON is the items that need attention, on the wire.
type todayJSON struct {
	At     wire.Time   `json:"at"`
	Groups []groupJSON `json:"groups"`
}

// groupJSON is the items of one kind.
type groupJSON struct {
	Kind  string     `json:"kind"`
	Items []itemJSON `json:"items"`
	Rest  int        `json:"rest"`
	More  bool       `json:"more"`
}

// itemJSON is one item that needs attention.
type itemJSON struct {
	PartnerID int64   `json:"partner_id"`
	Partner   string  `json:"partner"`
	Subject   string  `json:"subject"`
	Since     mayTime `json:"since"`
	Until     mayTime `json:"until"`
	Count     int64   `json:"count"`
	CountMore bool    `json:"count_more"`
	Text      string  `json:"text"`
}

func (o *Operator) today(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	report, err := o.Service.Today.Read(r.Context())
	if err != nil {
		return err
	}
	out := todayJSON{At: wire.Time(report.At), Groups: []groupJSON{}}
	for _, g := range report.Groups {
		group := groupJSON{Kind: string(g.Kind), Rest: g.Rest, More: g.More}
		for _, i := range g.Items {
			group.Items = append(group.Items, itemJSON{
				PartnerID: i.PartnerID, Partner: i.Partner, Subject: i.Subject, Since: mayTime(i.Since),
				Until: mayTime(i.Until), Count: i.Count, CountMore: i.More, Text: i.Text,
			})
		}
		out.Groups = append(out.Groups, group)
	}
	return wire.JSON(w, http.StatusOK, out)
}

// jobJSON is the last run of a background job, on the wire.
type jobJSON struct {
	Name        string    `json:"name"`
	Node        string    `json:"node"`
	State       string    `json:"state"`
	BeganAt     wire.Time `json:"began_at"`
	TookMs      int64     `json:"took_ms"`
	NextAt      mayTime   `json:"next_at"`
	SucceededAt mayTime   `json:"succeeded_at"`
	FailedSince mayTime   `json:"failed_since"`
	Error       string    `json:"error"`
}

func (o *Operator) listJobs(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	runs, err := job.Runs(r.Context(), o.Service.DB)
	if err != nil {
		return err
	}
	now := o.Accounts.Now()
	return wire.JSON(w, http.StatusOK, wire.ListOf(runs, func(run job.Run) jobJSON {
		state := "ok"
		switch {
		case run.Failed():
			state = "failed"
		case run.Late(now):
			state = "late"
		}
		return jobJSON{
			Name: run.Job, Node: run.Node, State: state, BeganAt: wire.Time(run.BeganAt),
			TookMs: run.Took.Milliseconds(), NextAt: mayTime(run.NextAt),
			SucceededAt: mayTime(run.SucceededAt), FailedSince: mayTime(run.FailedSince), Error: run.Error,
		}
	}))
}

// tokenJSON is an operator token on the wire, without its secret.
type tokenJSON struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	Scopes     []string  `json:"scopes"`
	CreatedAt  wire.Time `json:"created_at"`
	ExpiresAt  mayTime   `json:"expires_at"`
	RevokedAt  mayTime   `json:"revoked_at"`
	LastUsedAt mayTime   `json:"last_used_at"`
}

func tokenOf(t account.Token) tokenJSON {
	out := tokenJSON{
		ID:         t.ID,
		Name:       t.Name,
		CreatedAt:  wire.Time(t.CreatedAt),
		ExpiresAt:  mayTime(t.ExpiresAt),
		RevokedAt:  mayTime(t.RevokedAt),
		LastUsedAt: mayTime(t.LastUsed),
	}
	for _, s := range t.Scopes {
		out.Scopes = append(out.Scopes, string(s))
	}
	return out
}

func (o *Operator) listTokens(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	list, err := o.Accounts.Tokens(r.Context())
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, tokenOf))
}

func (o *Operator) revokeToken(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if err := noMembers(w, r); err != nil {
		return err
	}
	revoked, err := o.Accounts.RevokeToken(r.Context(), actor(t), pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, tokenOf(revoked))
}

// keyJSON is a signing key of identity tokens on the wire, without the key itself.
type keyJSON struct {
	ID          string    `json:"id"`
	Alg         string    `json:"alg"`
	State       string    `json:"state"`
	CreatedAt   wire.Time `json:"created_at"`
	ActivatesAt mayTime   `json:"activates_at"`
	ServedUntil mayTime   `json:"served_until"`
	EndsAt      mayTime   `json:"ends_at"`
}

func keyOf(k oauth.Key) keyJSON {
	return keyJSON{
		ID: k.ID, Alg: string(k.Alg), State: string(k.State), CreatedAt: wire.Time(k.CreatedAt),
		ActivatesAt: mayTime(k.ActivatesAt),
		ServedUntil: mayTime(k.ServedUntil), EndsAt: mayTime(k.EndsAt()),
	}
}

func (o *Operator) listKeys(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	list, err := o.Service.Keys.List(r.Context())
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, keyOf))
}

// rotateBody names the keys to rotate; the rotation may be immediate.
type rotateBody struct {
	Alg string `json:"alg"`
	Now bool   `json:"now"`
}

func (o *Operator) rotateKeys(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b rotateBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	if b.Alg != "" && b.Alg != string(oauth.RS256) && b.Alg != string(oauth.ES256) {
		return fault.Field("alg", "must be RS256, ES256, or empty for both.")
	}
	list, err := o.Service.Keys.Rotate(r.Context(), actor(t), oauth.Alg(b.Alg), b.Now)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, keyOf))
}

func (o *Operator) revokeKey(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if err := noMembers(w, r); err != nil {
		return err
	}
	list, err := o.Service.Keys.Revoke(r.Context(), actor(t), r.PathValue("kid"))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, keyOf))
}

func (o *Operator) listSettings(w http.ResponseWriter, _ *http.Request, _ account.Token) error {
	return wire.JSON(w, http.StatusOK, wire.ListOf(o.Service.Settings, func(s Setting) Setting { return s }))
}

// numberOf parses a cursor that is an id; "" is 0.
func numberOf(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || n < 1 {
		return 0, badCursor()
	}
	return n, nil
}

func badCursor() error {
	return fault.Parameter(
		"cursor",
		"is not a cursor of this list. Follow the next link of a page unchanged, or leave cursor out to begin with "+
			"the first page.",
	)
}
