package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"claviger/bench/internal/load"
	"claviger/bench/internal/seed"
	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

const (
	// applications is the number of partners per algorithm: writes of one partner are serialized,
	// and so is the creation of its codes.
	applications = 16
	// buyersEach is the number of buyers with a license per partner.
	buyersEach = 16
	// callback is the redirect URL of buyers.
	callback = "https://partner.example.com/callback"
)

// clientele is a database of partners with buyers who connect their licenses, and the server that
// makes their codes.
type clientele struct {
	url     string
	db      *sqldb.DB
	server  *oauth.Server
	parties map[string][]*party // by signing algorithm of their identity tokens
}

// party is one partner.
type party struct {
	id      int64
	keys    partner.Credentials
	request oauth.Request
	buyers  []buyer
}

// buyer is a user with a license.
type buyer struct {
	id         int64
	redemption string
}

func openClientele(ctx context.Context, store seed.Store, algs ...string) (*clientele, error) {
	at, err := store.Empty(ctx, "oauth")
	if err != nil {
		return nil, err
	}
	box, err := seed.Sealer()
	if err != nil {
		return nil, err
	}
	db, err := sqldb.Open(ctx, at, sqldb.Options{})
	if err != nil {
		return nil, err
	}
	partners := &partner.Store{DB: db, Sealer: box, Now: app.Now}
	c := &clientele{url: at, db: db, parties: map[string][]*party{}, server: &oauth.Server{
		DB: db, Sealer: box, Now: app.Now, Partners: partners,
		Profiles: &profile.Store{DB: db, Partners: partners, Now: app.Now},
		Licenses: &license.Store{DB: db, Now: app.Now, Events: &event.Log{DB: db}},
		Issuer:   "https://licenses.example.com", Life: oauth.Lifetimes{Code: time.Hour},
	}}
	for _, alg := range algs {
		c.parties[alg] = make([]*party, applications)
		_, err := load.Each(ctx, applications, applications, func(ctx context.Context, _, i int) (err error) {
			c.parties[alg][i], err = c.enrol(ctx, fmt.Sprintf("%s %d", alg, i+1), alg)
			return err
		})
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
	}
	return c, nil
}

// enrol creates a partner with its buyers.
func (c *clientele) enrol(ctx context.Context, name, alg string) (*party, error) {
	by := audit.System("bench")
	p, _, keys, err := c.server.Profiles.Enrol(ctx, by, partner.Draft{Name: name},
		profile.URLs{Redirect: callback, Connection: profile.Connection{IDTokenAlg: &alg}}, false,
		partner.Credentials{})
	if err != nil {
		return nil, err
	}
	if _, _, err := c.server.Partners.PutPlan(ctx, by, p.ID,
		partner.Plan{Tier: 1, Name: "Plan", PriceCents: 4900, Currency: "USD"}); err != nil {
		return nil, err
	}
	made := &party{id: p.ID, keys: keys}
	if made.request, err = c.server.MarketplaceRequest(ctx, p.ID); err != nil {
		return nil, err
	}
	accounts := &account.Store{DB: c.db, Now: app.Now}
	for i := range buyersEach {
		u, _, err := accounts.Create(ctx, by, account.Person{Email: fmt.Sprintf("buyer-%d-%d@example.com", p.ID, i)})
		if err != nil {
			return nil, err
		}
		sale, err := c.server.Licenses.Purchase(ctx, by, license.Purchase{
			PartnerID: p.ID, Tier: 1, Quantity: 1, Buyer: &account.Person{Email: u.Email},
		})
		if err != nil {
			return nil, err
		}
		made.buyers = append(made.buyers, buyer{id: u.ID, redemption: sale.Licenses[0].RedemptionID})
	}
	return made, nil
}

// exchanges makes n codes, as if by n consents, and returns the requests that exchange them.
func (c *clientele) exchanges(ctx context.Context, alg string, n int) ([][]byte, error) {
	list := make([][]byte, n)
	_, err := load.Each(ctx, inFlight, n, func(ctx context.Context, _, i int) error {
		p := c.parties[alg][i%applications]
		b := p.buyers[i/applications%buyersEach]
		to, _, err := c.server.Accept(ctx, audit.Actor{Kind: audit.ByUser, ID: b.id}, p.request,
			oauth.Authentication{UserID: b.id, At: app.Now()}, b.redemption)
		if err != nil {
			return err
		}
		u, err := url.Parse(to)
		if err != nil {
			return err
		}
		list[i] = load.Form(tokenPath, p.form("authorization_code", "code",
			u.Query().Get("code"))+"&redirect_uri="+url.QueryEscape(callback))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("make %d codes: %w", n, err)
	}
	return list, nil
}

// form returns a token request of the partner.
func (p *party) form(grant, name, value string) string {
	return "grant_type=" + grant + "&client_id=" + p.keys.ClientID + "&client_secret=" + p.keys.ClientSecret + "&" +
		name + "=" + value
}

// count runs a query for a number.
func (c *clientele) count(ctx context.Context, sql string) (int64, error) {
	return sqldb.One(ctx, c.db, sqldb.Value[int64], sql)
}

// audit compares the stored data with the servers' acknowledgements: each exchange and each refresh
// gave one refresh token, each code worked once, and no family was revoked.
func (c *clientele) audit(ctx context.Context, exchanged, refreshed int64) error {
	for _, q := range []struct {
		what, sql string
		want      int64
	}{
		{"codes that were used", `SELECT count(*) FROM oauth_grants WHERE used_at <> 0 AND burned = ''`, exchanged},
		{"codes that were burned", `SELECT count(*) FROM oauth_grants WHERE burned <> ''`, 0},
		{"families that were revoked", `SELECT count(*) FROM oauth_grants WHERE revoked_at <> 0`, 0},
		{"refresh tokens that were given", `SELECT count(*) FROM oauth_tokens WHERE kind = 2`, exchanged + refreshed},
		{"refresh tokens that were used", `SELECT count(*) FROM oauth_tokens
			WHERE kind = 2 AND used_at <> 0`, refreshed},
		{"grants with two refresh tokens to be used", `SELECT count(*) FROM (
			SELECT grant_id FROM oauth_tokens WHERE kind = 2 AND used_at = 0
			GROUP BY grant_id HAVING count(*) > 1) AS t`, 0},
	} {
		n, err := c.count(ctx, q.sql)
		if err != nil {
			return err
		}
		if n != q.want {
			return fmt.Errorf("%d %s are stored, and %d were acknowledged", n, q.what, q.want)
		}
	}
	return nil
}
