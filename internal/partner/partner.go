// Package partner owns the partner applications: their names, credentials (client id and secret,
// API keys, webhook secret), plans, product texts and members. Package invitation stores the
// invitations to become a member. Package partner owns the tables partners, partner_counters,
// partner_secrets, plans, products, product_icons, members and support_visits.
//
// Package profile owns the URLs and contacts of a partner, and package license its licenses.
package partner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/lastuse"
	"claviger/internal/paging"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
	"claviger/internal/wire"
)

// ErrExists reports that another partner has the external id.
var ErrExists = errors.New("partner: another partner has the external id")

// DefaultBrand is the brand of a partner without one, if the installation has no default of its
// own.
const DefaultBrand = "Licensing"

// Limits of a partner's names, in characters.
const (
	maxName       = 100
	maxBrand      = 40
	maxExternalID = 255
)

// MaxWebhooks is the maximum number of concurrent webhooks to a partner.
const MaxWebhooks = 1024

// Partner is an application with licenses for sale.
type Partner struct {
	ID        int64
	Name      string
	Brand     string // part of its header names, as in X-<Brand>-Signature
	ClientID  string
	Strict    bool // a webhook counts as delivered only by 200 and "success": true
	SingleKey bool // its API key is also its webhook secret
	Webhooks  int  // maximum number of concurrent webhooks; 0: the installation's limit
	CreatedAt time.Time
	UpdatedAt time.Time

	ExternalID  string    // the operator's own id of it, or ""
	PausedAt    time.Time // zero: not paused
	PauseReason string    // for the operator

	// Revision changes with every change of the partner's licenses. Only ByKey reads it.
	Revision Revision
}

// Revision identifies a state of a partner's licenses: none of them changes without a new revision.
// It includes the time of the last change because a restored database counts the same numbers
// again.
type Revision struct {
	Number int64     // transactions that wrote licenses
	At     time.Time // of the last one
}

// Draft is a partner that is not created yet.
type Draft struct {
	Name, Brand       string
	Strict, SingleKey bool
	Webhooks          int
	ExternalID        string // unique among partners, or ""
}

// Change is a change of a partner; nil leaves a field unchanged.
type Change struct {
	Name, Brand       *string
	Strict, SingleKey *bool
	Webhooks          *int

	// For a change of SingleKey, which replaces secrets: how long the old ones stay valid, and the
	// values to use instead of generated ones.
	Overlap time.Duration
	Given   Credentials
}

// Store reads and changes partners.
type Store struct {
	DB     *sqldb.DB
	Sealer *secret.Sealer
	Now    func() time.Time
	Brand  string // of partners without one; "": DefaultBrand

	// Changed is a hook. Store calls it in the transaction that changes the signing or sending of
	// webhooks: a secret, the brand, strictness, a pause. webhook.Outbox.Touch listens. Nil: not
	// called.
	Changed func(tx *sqldb.Tx, partnerID int64)

	// Uses records the last uses of credentials; nil: not recorded.
	Uses *lastuse.Uses

	// Pictures has the slots for decoding pictures; nil: no limit.
	Pictures *wire.Share

	// Accounts has the rights of operators, who may enter portals as support; nil: no one may enter.
	Accounts *account.Store
}

func (r *Store) changed(tx *sqldb.Tx, id int64) {
	if r.Changed != nil {
		r.Changed(tx, id)
	}
}

// columns are qualified, because some statements join other tables.
const columns = `partners.id, partners.name, partners.brand, partners.client_id,
	partners.strict, partners.single_key, partners.created_at, partners.updated_at,
	partners.external_id, partners.paused_at, partners.pause_reason, partners.webhook_concurrency`

// fields returns the scan targets of columns.
func (p *Partner) fields(more ...any) []any {
	return append([]any{
		&p.ID, &p.Name, &p.Brand, &p.ClientID, &p.Strict, &p.SingleKey, &p.CreatedAt, &p.UpdatedAt,
		&p.ExternalID, &p.PausedAt, &p.PauseReason, &p.Webhooks,
	}, more...)
}

func scan(r *sqldb.Row, p *Partner) error { return r.Scan(p.fields()...) }

// Unknown returns the fault for a partner that does not exist.
func Unknown() error {
	return fault.New(fault.Missing, CodeUnknownPartner, "There is no such partner; list the partners to see their ids.")
}

// orUnknown turns sqldb.ErrNone into the fault Unknown.
func orUnknown(p Partner, err error, doing string) (Partner, error) {
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return Partner{}, Unknown()
	case err != nil:
		return Partner{}, fmt.Errorf("%s: %w", doing, err)
	}
	return p, nil
}

// Get returns the partner with the id.
func (r *Store) Get(ctx context.Context, id int64) (Partner, error) {
	p, err := sqldb.One(ctx, r.DB, scan, `SELECT `+columns+` FROM partners WHERE id = $1`, id)
	return orUnknown(p, err, "get a partner")
}

// List returns one page of the partners, newest first unless the page says otherwise, and the total
// number.
func (r *Store) List(ctx context.Context, p paging.Page) (list []Partner, total int64, err error) {
	order := "DESC"
	if p.Order == paging.OldestFirst {
		order = "ASC"
	}
	err = r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		count := sqldb.QueueQuery(tx, sqldb.Value[int64], `SELECT count(*) FROM partners`)
		list, err = sqldb.All(ctx, tx, scan,
			`SELECT `+columns+` FROM partners ORDER BY id `+order+` LIMIT $1 OFFSET $2`, p.Limit, p.Offset())
		if err != nil {
			return err
		}
		total, err = count.One(ctx)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list partners: %w", err)
	}
	return list, total, nil
}

// ByName returns partners in the order of their names, after the one with the id after; 0: from the
// first one.
func (r *Store) ByName(ctx context.Context, after int64, limit int) ([]Partner, error) {
	where := ""
	args := []any{limit}
	if after != 0 {
		where = `WHERE (name, id) > (SELECT name, id FROM partners WHERE id = $2)`
		args = append(args, after)
	}
	list, err := sqldb.All(
		ctx, r.DB, scan, `SELECT `+columns+` FROM partners `+where+` ORDER BY name, id LIMIT $1`, args...,
	)
	if err != nil {
		return nil, fmt.Errorf("list partners by name: %w", err)
	}
	return list, nil
}

// lock locks the partner's row until the transaction ends and returns it. It serializes changes of
// a partner, its secrets and its plans. Writers of its licenses do not wait here; see Lock.
func lock(ctx context.Context, tx *sqldb.Tx, id int64) (Partner, error) {
	p, err := sqldb.One(ctx, tx, scan,
		`UPDATE partners SET updated_at = updated_at WHERE id = $1 RETURNING `+columns, id)
	return orUnknown(p, err, "lock a partner")
}

// LockRow exports lock for package profile: its changes go together with the partner's.
func (r *Store) LockRow(ctx context.Context, tx *sqldb.Tx, id int64) (Partner, error) {
	return lock(ctx, tx, id)
}

// Create makes a partner in the caller's transaction and returns it with its credentials, which
// cannot be read again. Non-empty fields of given are used instead of generated ones. If another
// partner has the external id it returns ErrExists, even if that partner was committed during this
// transaction.
func (r *Store) Create(
	ctx context.Context, tx *sqldb.Tx, by audit.Actor, d Draft, given Credentials,
) (Partner, Credentials, error) {
	if d.Brand == "" {
		d.Brand = r.Brand
	}
	d, err := d.checked()
	if err != nil {
		return Partner{}, Credentials{}, err
	}
	c := given.filled(d.SingleKey)
	now := r.Now()
	p, err := sqldb.One(ctx, tx, scan,
		`INSERT INTO partners (name, brand, client_id, strict, single_key, created_at, updated_at, external_id,
			webhook_concurrency) VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8) ON CONFLICT (external_id)
			WHERE external_id <> '' DO NOTHING RETURNING `+columns,
		d.Name, d.Brand, c.ClientID, d.Strict, d.SingleKey, now, d.ExternalID, d.Webhooks)
	if errors.Is(err, sqldb.ErrNone) {
		return Partner{}, Credentials{}, ErrExists
	}
	if err != nil {
		return Partner{}, Credentials{}, fmt.Errorf("create a partner: %w", err)
	}
	tx.Queue(`INSERT INTO partner_counters (partner_id, turns, licenses, events, clock) VALUES ($1, 0, 0, 0, 0)`, p.ID)
	r.storeSecret(tx, p, ClientSecret, MainKey, c.ClientSecret, now)
	r.storeSecret(tx, p, APIKey, MainKey, c.APIKey, now)
	if !p.SingleKey {
		r.storeSecret(tx, p, WebhookSecret, MainKey, c.WebhookSecret, now)
	}
	audit.Record(tx, now, by, "partner.create", subject(p.ID), nil, p.facts())
	return p, c, nil
}

// Amend changes a partner in the caller's transaction. It writes nothing if nothing
// changes. A change of single_key replaces secrets.
func (r *Store) Amend(ctx context.Context, tx *sqldb.Tx, by audit.Actor, id int64, c Change) (Partner, Issued, error) {
	before, err := lock(ctx, tx, id)
	if err != nil {
		return Partner{}, Issued{}, err
	}
	after, err := c.on(before)
	if err != nil || after == before {
		return after, Issued{}, err
	}
	r.changed(tx, id)
	after.UpdatedAt = r.Now()
	tx.Queue(`UPDATE partners SET name = $2, brand = $3, strict = $4, single_key = $5, updated_at = $6,
		webhook_concurrency = $7 WHERE id = $1`,
		id, after.Name, after.Brand, after.Strict, after.SingleKey, after.UpdatedAt, after.Webhooks)
	audit.Record(tx, after.UpdatedAt, by, "partner.update", subject(id), before.facts(), after.facts())
	var issued Issued
	if after.SingleKey != before.SingleKey {
		issued = r.reissue(tx, by, after, c.Given, c.Overlap)
	}
	return after, issued, nil
}

// on returns the partner after the change.
func (c Change) on(p Partner) (Partner, error) {
	d := Draft{Name: p.Name, Brand: p.Brand, Strict: p.Strict, SingleKey: p.SingleKey, Webhooks: p.Webhooks}
	if c.Name != nil {
		d.Name = *c.Name
	}
	if c.Brand != nil {
		d.Brand = *c.Brand
	}
	if c.Strict != nil {
		d.Strict = *c.Strict
	}
	if c.SingleKey != nil {
		d.SingleKey = *c.SingleKey
	}
	if c.Webhooks != nil {
		d.Webhooks = *c.Webhooks
	}
	d, err := d.checked()
	if err == nil {
		err = validOverlap(c.Overlap)
	}
	if err != nil {
		return Partner{}, err
	}
	p.Name = d.Name
	p.Brand = d.Brand
	p.Strict = d.Strict
	p.SingleKey = d.SingleKey
	p.Webhooks = d.Webhooks
	return p, nil
}

// Valid returns a fault for the first invalid field of the draft, for a caller with work to do
// before it creates the partner.
func (d Draft) Valid() error {
	_, err := d.checked()
	return err
}

// Valid returns a fault for the first field of the change that is invalid for any partner.
func (c Change) Valid() error {
	_, err := c.on(Partner{Name: "any", Brand: DefaultBrand})
	return err
}

// checked validates the draft and returns it in its stored form.
func (d Draft) checked() (Draft, error) {
	var err error
	if d.Name, err = validate.Name("name", d.Name, 1, maxName); err != nil {
		return d, err
	}
	if d.ExternalID, err = validate.Line("external_id", d.ExternalID, 0, maxExternalID); err != nil {
		return d, err
	}
	if d.Brand == "" {
		d.Brand = DefaultBrand
	}
	if len(d.Brand) > maxBrand || strings.ContainsFunc(d.Brand, notInBrand) {
		return d, fault.Field(
			"brand",
			"must have 1 to %d letters (a to z), digits or hyphens; it becomes part of header names.",
			maxBrand,
		)
	}
	if d.Webhooks < 0 || d.Webhooks > MaxWebhooks {
		return d, fault.Field(
			"webhook_concurrency", "must be from 0, which means as many as the installation allows, to %d.",
			MaxWebhooks,
		)
	}
	return d, nil
}

func notInBrand(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
}

func subject(id int64) string { return "partner:" + strconv.FormatInt(id, 10) }

func (p Partner) facts() audit.Facts {
	f := audit.Facts{
		"name": p.Name, "brand": p.Brand, "client_id": p.ClientID, "strict": p.Strict,
		"single_key": p.SingleKey,
	}
	if p.Webhooks != 0 {
		f["webhook_concurrency"] = p.Webhooks
	}
	if p.ExternalID != "" {
		f["external_id"] = p.ExternalID
	}
	return f
}
