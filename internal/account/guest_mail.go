package account

import (
	"context"
	"fmt"
	"strings"

	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// guestCause returns the beginning of the cause of each email with a guest's link.
func guestCause(userID int64) string { return fmt.Sprintf("purchase link of user %d: ", userID) }

// ToGuest reports whether the email with this cause contains the link of a guest. Other emails to the
// address may belong to someone else, because anyone can type it.
func ToGuest(cause string, userID int64) bool { return strings.HasPrefix(cause, guestCause(userID)) }

// shares reports whether an account, or another guest who paid, has the address of a guest. Guests who
// have not paid get no emails.
func (u User) shares(ctx context.Context, r sqldb.Reader) (bool, error) {
	if !u.Guest() {
		return false, nil
	}
	n, err := sqldb.One(ctx, r, sqldb.Value[int64], `SELECT count(*) FROM users WHERE id <> $1 AND id IN (
			SELECT id FROM users WHERE email_key = $2 AND email_key <> ''
			UNION SELECT users.id FROM users JOIN guests ON guests.user_id = users.id
				WHERE guest_email_key = $2 AND guest_email_key <> '' AND paid_at <> 0)`,
		u.ID, validate.EmailKey(u.GuestEmail))
	if err != nil {
		return false, fmt.Errorf("look for others with the address of a guest: %w", err)
	}
	return n > 0, nil
}

// eraseMails queues the deletion of the emails to an erased user.
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

// ErasedMails counts the emails that an erasure of the user deletes, up to a limit.
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
