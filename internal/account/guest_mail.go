package account

import (
	"context"
	"fmt"
	"strings"

	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// guestCause begins the cause of each mail with the link of a guest.
func guestCause(userID int64) string { return fmt.Sprintf("purchase link of user %d: ", userID) }

// ToGuest reports whether the mail with this cause has the receipt and the link of a guest. Other mails
// to the address may be those of somebody else: everyone can type it.
func ToGuest(cause string, userID int64) bool { return strings.HasPrefix(cause, guestCause(userID)) }

// shares reports whether the address that a guest typed is that of another user, too.
func (u User) shares(ctx context.Context, r sqldb.Reader) (bool, error) {
	if !u.Guest() {
		return false, nil
	}
	n, err := sqldb.One(ctx, r, sqldb.Value[int64], `SELECT count(*) FROM users WHERE id <> $1 AND id IN (
			SELECT id FROM users WHERE email_key = $2 AND email_key <> ''
			UNION SELECT id FROM users WHERE guest_email_key = $2 AND guest_email_key <> '')`,
		u.ID, validate.EmailKey(u.GuestEmail))
	if err != nil {
		return false, fmt.Errorf("look for others with the address of a guest: %w", err)
	}
	return n > 0, nil
}

// eraseMails queues the deletion of the mails to an erased user.
func (u User) eraseMails(ctx context.Context, tx *sqldb.Tx) error {
	shared, err := u.shares(ctx, tx)
	if err != nil {
		return err
	}
	if shared {
		mail.EraseCaused(tx, u.GuestEmail, guestCause(u.ID))
	} else {
		mail.Erase(tx, u.Address())
	}
	return nil
}

// ErasedMails counts the mails that an erasure of the user deletes, up to a limit.
func ErasedMails(ctx context.Context, r sqldb.Reader, u User, limit int) (int, error) {
	shared, err := u.shares(ctx, r)
	if err != nil {
		return 0, err
	}
	list, err := mail.To(ctx, r, u.Address(), limit)
	n := 0
	for _, m := range list {
		if !shared || ToGuest(m.Cause, u.ID) {
			n++
		}
	}
	return n, err
}
