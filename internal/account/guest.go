package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"claviger/internal/audit"
	"claviger/internal/mail"
	"claviger/internal/prune"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// A guest buys without an account. Until a mailed link proves the typed address, only the browser
// that pays knows the guest, and the guest has one license. Then the guest becomes an account, or
// the account with that address takes over what the guest has; see package merge.

// GuestLife is how long the browser that pays can act as the guest.
const (
	GuestLife     = 24 * time.Hour
	guestLinkLife = 7 * 24 * time.Hour
)

// ForPurchase is the purpose of the link that a guest gets after the payment.
const ForPurchase Purpose = "purchase"

// Guest reports whether the user is a guest.
func (u User) Guest() bool { return u.GuestEmail != "" }

// Address returns the user's email address, or the one that a guest typed.
func (u User) Address() string {
	if u.Email != "" {
		return u.Email
	}
	return u.GuestEmail
}

// GuestOrder is what a guest is about to buy.
type GuestOrder struct {
	Email     string
	Browser   string // the secret of the browser that pays
	PartnerID int64
	Tier      int
}

// StartGuest returns the guest who buys, and makes one. A browser that begins the same order again
// gets the same guest.
func (b *Store) StartGuest(ctx context.Context, o GuestOrder) (User, error) {
	email, err := validate.Email("email", o.Email)
	if err != nil {
		return User{}, err
	}
	var u User
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := b.Now()
		u, err = sqldb.One(ctx, tx, scan, `SELECT `+columns+` FROM users WHERE guest_email_key = $1
			AND id IN (SELECT user_id FROM guests WHERE browser_hash = $2 AND partner_id = $3 AND tier = $4
				AND paid_at = 0 AND browser_until > $5) ORDER BY id DESC LIMIT 1`,
			validate.EmailKey(email), secret.Hash(o.Browser), o.PartnerID, o.Tier, now)
		if !errors.Is(err, sqldb.ErrNone) {
			return err
		}
		u, err = sqldb.One(ctx, tx, scan, `INSERT INTO users (email, email_key, name, external_id, operator,
				password_hash, proven_at, created_at, updated_at, erased_at, guest_email, guest_email_key)
			VALUES ('', '', '', '', $1, '', 0, $2, $2, 0, $3, $4) RETURNING `+columns,
			false, now, email, validate.EmailKey(email))
		if err != nil {
			return err
		}
		tx.Queue(`INSERT INTO guests (user_id, partner_id, tier, browser_hash, browser_until, next, created_at, paid_at)
			VALUES ($1, $2, $3, $4, $5, '', $6, 0)`,
			u.ID, o.PartnerID, o.Tier, secret.Hash(o.Browser), now.Add(GuestLife), now)
		audit.Record(tx, now, visitor, "user.guest", subject(u.ID), nil, u.facts())
		return nil
	})
	if err != nil {
		return User{}, fmt.Errorf("start a purchase without an account: %w", err)
	}
	return u, nil
}

// GuestIn returns the guest with the id if it is one of this browser; found is false for all others.
func (b *Store) GuestIn(ctx context.Context, browser string, userID int64) (u User, found bool, err error) {
	if browser == "" || userID == 0 {
		return User{}, false, nil
	}
	u, err = sqldb.One(ctx, b.DB, scan, `SELECT `+columns+` FROM users WHERE id = $1 AND erased_at = 0
		AND EXISTS (SELECT 1 FROM guests WHERE user_id = users.id AND browser_hash = $2 AND browser_until > $3)`,
		userID, secret.Hash(browser), b.Now())
	if errors.Is(err, sqldb.ErrNone) {
		return User{}, false, nil
	}
	if err != nil {
		return User{}, false, fmt.Errorf("find a guest: %w", err)
	}
	return u, true, nil
}

// Bought is what a guest has paid for.
type Bought struct {
	Item  string      // application and plan
	Next  string      // the page that leads to the license
	Facts []mail.Fact // of the receipt
}

// GuestPaid mails a guest the receipt and the link that proves the address. It does nothing for other
// users, and nothing when it is called again.
func (b *Store) GuestPaid(ctx context.Context, userID int64, what Bought) error {
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := b.Now()
		n, err := tx.Exec(ctx, `UPDATE guests SET paid_at = $2, next = $3 WHERE user_id = $1 AND paid_at = 0`,
			userID, now, what.Next)
		if err != nil || n == 0 {
			return err
		}
		u, err := sqldb.One(ctx, tx, scan, `SELECT `+columns+` FROM users WHERE id = $1`, userID)
		if err == nil {
			b.mailGuest(tx, u, what, now)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("mail a guest: %w", err)
	}
	return nil
}

// mailGuest makes a link for a guest and mails it.
func (b *Store) mailGuest(tx *sqldb.Tx, u User, what Bought, now time.Time) {
	token := secret.Make("")
	tx.Queue(`INSERT INTO guest_links (hash, user_id, created_at, expires_at, used_at) VALUES ($1, $2, $3, $4, 0)`,
		secret.Hash(token), u.ID, now, now.Add(guestLinkLife))
	title := "Confirm your email address to keep your license"
	opening := "A license was bought with this address at " + b.marketplace() + "."
	if what.Item != "" {
		title = "Your license for " + what.Item
		opening = "Thank you for your purchase. This is the receipt."
	}
	text, html := b.Mail.Render(mail.Content{
		Title: title,
		Hello: "Hello,",
		Opening: []string{
			opening,
			"Confirm this address to get to the license from any device. The browser in which you paid knows it " +
				"for 24 hours only.",
		},
		Facts:  what.Facts,
		Button: mail.Link{Name: "Confirm the address and see the license", URL: b.address(ForPurchase, token)},
		Closing: []string{
			"The link works once, for 7 days. Do not pass it on: whoever has it gets the license. When it no longer " +
				"works, ask for another one at " + b.PublicURL + "/sign-in with this address.",
			"If you bought nothing, you need not do anything: somebody typed your address by mistake.",
		},
		Links: b.Mail.Contact(b.marketplace()),
		Foot:  fmt.Sprintf("You get this mail because this address was typed for a purchase at %s.", b.marketplace()),
	})
	b.Mail.Put(tx, mail.Message{
		Cause: guestCause(u.ID) + secret.Hash(token)[:16], To: u.GuestEmail,
		Subject: title, Text: text, HTML: html,
	}, now)
}

// MailGuestAgain mails a guest who has paid another link, unless the guest had too many.
func (b *Store) MailGuestAgain(ctx context.Context, userID int64) error {
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error { return b.mailGuestAgain(ctx, tx, userID) })
	if err != nil {
		return fmt.Errorf("mail a guest another link: %w", err)
	}
	return nil
}

func (b *Store) mailGuestAgain(ctx context.Context, tx *sqldb.Tx, userID int64) error {
	now := b.Now()
	// Locks the guest: of two requests at the same time, the second one counts the link of the first.
	u, err := sqldb.One(ctx, tx, scan, `UPDATE users SET updated_at = updated_at WHERE id = $1 AND erased_at = 0
		AND EXISTS (SELECT 1 FROM guests WHERE user_id = users.id AND paid_at <> 0) RETURNING `+columns, userID)
	if errors.Is(err, sqldb.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	n, err := sqldb.One(ctx, tx, sqldb.Value[int64],
		`SELECT count(*) FROM guest_links WHERE user_id = $1 AND created_at > $2`, userID, now.Add(-mailsSpan))
	if err != nil || n >= maxMails {
		return err
	}
	b.mailGuest(tx, u, Bought{}, now)
	return nil
}

// newestGuest returns the guest with the address who paid last, 0 if there is none.
func newestGuest(ctx context.Context, tx *sqldb.Tx, emailKey string) (int64, error) {
	ids, err := PaidGuests(ctx, tx, emailKey)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	return ids[len(ids)-1], nil
}

// PaidGuests returns the guests with the address that have paid, oldest first. emailKey is the
// address as validate.EmailKey returns it.
func PaidGuests(ctx context.Context, r sqldb.Reader, emailKey string) ([]int64, error) {
	if emailKey == "" {
		return nil, nil
	}
	ids, err := sqldb.All(ctx, r, sqldb.Value[int64], `SELECT users.id FROM users
		JOIN guests ON guests.user_id = users.id
		WHERE guest_email_key = $1 AND guest_email_key <> '' AND erased_at = 0 AND paid_at <> 0 ORDER BY users.id`,
		emailKey)
	if err != nil {
		return nil, fmt.Errorf("find the guests with an address: %w", err)
	}
	return ids, nil
}

// endGuest queues the end of a guest: no browser and no link leads to it any more.
func endGuest(tx *sqldb.Tx, userID int64, at time.Time) {
	tx.Queue(`DELETE FROM guests WHERE user_id = $1`, userID)
	tx.Queue(`UPDATE guest_links SET expires_at = $2 WHERE user_id = $1 AND expires_at > $2`, userID, at)
}

// EndErased removes the addresses of guests whom a node of the previous release erased: it knows only
// the addresses of accounts.
func EndErased(ctx context.Context, db *sqldb.DB, now time.Time) error {
	const erased = `SELECT id FROM users WHERE guest_email_key <> '' AND erased_at <> 0 ORDER BY id LIMIT $1`
	ids, err := sqldb.All(ctx, db, sqldb.Value[int64], erased, guestsAtOnce)
	if err == nil && len(ids) > 0 {
		err = db.Write(ctx, func(tx *sqldb.Tx) error {
			for _, id := range ids {
				endGuest(tx, id, now)
			}
			tx.Queue(`UPDATE users SET guest_email = '', guest_email_key = ''
				WHERE id = ANY($1) AND erased_at <> 0`, ids)
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("finish the erasure of guests: %w", err)
	}
	return nil
}

// guestsAtOnce bounds the guests that are read or deleted together.
const guestsAtOnce = 1000

// EachUnpaid calls act with the guests from before a time who have not paid, some at a time.
func EachUnpaid(ctx context.Context, db *sqldb.DB, before time.Time, act func(ids []int64) error) error {
	for after := int64(0); ; {
		ids, err := sqldb.All(ctx, db, sqldb.Value[int64], `SELECT user_id FROM guests
			WHERE paid_at = 0 AND created_at < $1 AND user_id > $2 ORDER BY user_id LIMIT $3`,
			before, after, guestsAtOnce)
		if err != nil {
			return fmt.Errorf("find guests who have not paid: %w", err)
		}
		if len(ids) == 0 {
			return nil
		}
		if err := act(ids); err != nil {
			return err
		}
		after = ids[len(ids)-1]
	}
}

// DeleteUnpaid deletes guests who have not paid, except those that keep returns, and returns their
// number. It locks the guests before it calls keep, so that no sale to them commits in between.
func DeleteUnpaid(
	ctx context.Context,
	db *sqldb.DB,
	ids []int64,
	keep func(*sqldb.Tx, []int64) ([]int64, error),
) (int64, error) {
	var gone []int64
	err := db.Write(ctx, func(tx *sqldb.Tx) error {
		locked, err := sqldb.All(ctx, tx, sqldb.Value[int64],
			`SELECT id FROM users WHERE id = ANY($1) AND guest_email <> '' ORDER BY id`+tx.ForUpdate, ids)
		if err != nil {
			return err
		}
		kept, err := keep(tx, locked)
		if err != nil {
			return err
		}
		locked = slices.DeleteFunc(locked, func(id int64) bool { return slices.Contains(kept, id) })
		gone, err = sqldb.All(ctx, tx, sqldb.Value[int64],
			`DELETE FROM guests WHERE user_id = ANY($1) AND paid_at = 0 RETURNING user_id`, locked)
		tx.Queue(`DELETE FROM users WHERE id = ANY($1) AND guest_email <> ''`, gone)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("delete guests who have not paid: %w", err)
	}
	return int64(len(gone)), nil
}

// PruneGuests returns the rule that deletes guests by do.
func PruneGuests(do func(ctx context.Context, db *sqldb.DB, now time.Time) (int64, error)) prune.Rule {
	return prune.Rule{Table: "guests", Do: do}
}
