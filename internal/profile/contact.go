package profile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Limits of contacts.
const (
	MaxContacts = 50
	maxName     = 100 // characters
)

// Contact is a person that gets an email when the service cannot reach the partner's application.
type Contact struct {
	ID        int64
	Name      string
	Email     string
	CreatedAt time.Time
	UpdatedAt time.Time
}

const contactColumns = `id, name, email, created_at, updated_at`

func scanContact(r *sqldb.Row, c *Contact) error {
	return r.Scan(&c.ID, &c.Name, &c.Email, &c.CreatedAt, &c.UpdatedAt)
}

// AddContact adds a contact to a partner's profile.
func (b *Store) AddContact(ctx context.Context, by audit.Actor, partnerID int64, name, email string) (Contact, error) {
	email, err := validate.Email("email", email)
	if err != nil {
		return Contact{}, err
	}
	if name, err = validate.Name("name", name, 1, maxName); err != nil {
		return Contact{}, err
	}
	var c Contact
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		c, err = b.addContact(ctx, tx, by, partnerID, name, email)
		return err
	})
	if err != nil {
		return Contact{}, fmt.Errorf("add a contact: %w", err)
	}
	return c, nil
}

func (b *Store) addContact(
	ctx context.Context,
	tx *sqldb.Tx,
	by audit.Actor,
	partnerID int64,
	name, email string,
) (Contact, error) {
	now := b.Now()
	if err := touch(ctx, tx, partnerID, now); err != nil {
		return Contact{}, err
	}
	key := validate.EmailKey(email)
	n, err := sqldb.One(ctx, tx, scanCounts, `SELECT count(*), count(CASE WHEN email_key = $2 THEN 1 END)
		FROM contacts WHERE partner_id = $1`, partnerID, key)
	switch {
	case err != nil:
		return Contact{}, err
	case n.same > 0:
		return Contact{}, fault.New(fault.Conflict, codeContactExists,
			"There is a contact with this email address; delete it first to add it again.").On("email")
	case n.all >= MaxContacts:
		return Contact{}, fault.New(fault.Conflict, codeTooManyContacts,
			"A profile has at most %d contacts; delete one first.", MaxContacts)
	}
	c, err := sqldb.One(
		ctx,
		tx,
		scanContact,
		`INSERT INTO contacts (partner_id, name, email, email_key, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $5) RETURNING `+contactColumns,
		partnerID,
		name,
		email,
		key,
		now,
	)
	if err != nil {
		return Contact{}, err
	}
	audit.Record(tx, now, by, "contact.create", subject(partnerID), nil, c.facts())
	return c, nil
}

// counts has the number of contacts, and the number with the new address.
type counts struct{ all, same int64 }

func scanCounts(r *sqldb.Row, n *counts) error { return r.Scan(&n.all, &n.same) }

// touch marks the profile as changed. It runs first, because it also serializes changes of the same
// profile's contacts, so that the limit of contacts holds.
func touch(ctx context.Context, tx *sqldb.Tx, partnerID int64, at time.Time) error {
	_, err := found(sqldb.One(ctx, tx, scan,
		`UPDATE profiles SET updated_at = $2 WHERE partner_id = $1 RETURNING `+columns, partnerID, at))
	return err
}

// DeleteContact removes a contact from a partner's profile.
func (b *Store) DeleteContact(ctx context.Context, by audit.Actor, partnerID, contactID int64) error {
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := b.Now()
		if err := touch(ctx, tx, partnerID, now); err != nil {
			return err
		}
		c, err := sqldb.One(ctx, tx, scanContact,
			`DELETE FROM contacts WHERE id = $1 AND partner_id = $2 RETURNING `+contactColumns, contactID, partnerID)
		if errors.Is(err, sqldb.ErrNone) {
			return unknownContact()
		}
		if err != nil {
			return err
		}
		audit.Record(tx, now, by, "contact.delete", subject(partnerID), c.facts(), nil)
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete a contact: %w", err)
	}
	return nil
}

func unknownContact() error {
	return fault.New(
		fault.Missing,
		codeUnknownContact,
		"There is no such contact; read the profile to see the contacts and their ids.",
	)
}

// Contact returns a contact of a partner.
func (b *Store) Contact(ctx context.Context, r sqldb.Reader, partnerID, contactID int64) (Contact, error) {
	c, err := sqldb.One(
		ctx,
		r,
		scanContact,
		`SELECT `+contactColumns+` FROM contacts WHERE id = $1 AND partner_id = $2`,
		contactID,
		partnerID,
	)
	if errors.Is(err, sqldb.ErrNone) {
		return Contact{}, unknownContact()
	}
	if err != nil {
		return Contact{}, fmt.Errorf("read a contact: %w", err)
	}
	return c, nil
}

// facts has neither name nor address: audit entries are never deleted, and a contact can demand to
// be erased.
func (c Contact) facts() audit.Facts { return audit.Facts{"contact_id": c.ID} }

// EraseContacts removes the contacts with an address from the profiles of all partners, in the
// caller's transaction. It locks profiles in the order of their partners' ids.
func EraseContacts(ctx context.Context, tx *sqldb.Tx, by audit.Actor, email string, at time.Time) error {
	if email == "" {
		return nil
	}
	partners, err := sqldb.All(ctx, tx, sqldb.Value[int64],
		`SELECT partner_id FROM contacts WHERE email_key = $1 ORDER BY partner_id`, validate.EmailKey(email))
	if err != nil {
		return fmt.Errorf("find contacts to erase: %w", err)
	}
	for _, partnerID := range partners {
		if err := touch(ctx, tx, partnerID, at); err != nil {
			return err
		}
		deleted, err := sqldb.All(
			ctx,
			tx,
			scanContact,
			`DELETE FROM contacts WHERE partner_id = $1 AND email_key = $2 RETURNING `+contactColumns,
			partnerID,
			validate.EmailKey(email),
		)
		if err != nil {
			return fmt.Errorf("erase contacts: %w", err)
		}
		for _, c := range deleted {
			audit.Record(tx, at, by, "contact.delete", subject(partnerID), c.facts(), nil)
		}
	}
	return nil
}

// CountContacts returns the number of contacts with an address, over all partners.
func CountContacts(ctx context.Context, r sqldb.Reader, email string) (int64, error) {
	if email == "" {
		return 0, nil
	}
	n, err := sqldb.One(
		ctx,
		r,
		sqldb.Value[int64],
		`SELECT count(*) FROM contacts WHERE email_key = $1`,
		validate.EmailKey(email),
	)
	if err != nil {
		return 0, fmt.Errorf("count contacts: %w", err)
	}
	return n, nil
}
