package account

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/sqldb"
)

// Users gain rights with a role, a membership or another address. Someone else may hold a session
// or a link of theirs from before, so those end then. A loss of rights only ends sessions in the
// console and the portal, where the rights counted.

// endSessions ends the user's sessions, and the links that could begin new ones, choose a
// password or change the address. The caller stores the new epoch.
func (u *User) endSessions(tx *sqldb.Tx, at time.Time) {
	u.SessionEpoch++
	tx.Queue(`UPDATE login_links SET expires_at = $2, name = '', password_hash = '', browser_hash = ''
		WHERE user_id = $1 AND expires_at > $2`, u.ID, at)
}

// Gained ends all sessions and links of a user, in the transaction in which another package gives
// them a right, such as a membership. It returns the epoch of sessions that may continue.
func Gained(ctx context.Context, tx *sqldb.Tx, userID int64, at time.Time) (epoch int64, err error) {
	u, err := lock(ctx, tx, userID)
	if err != nil {
		return 0, err
	}
	u.endSessions(tx, at)
	tx.Queue(`UPDATE users SET session_epoch = $2 WHERE id = $1`, u.ID, u.SessionEpoch)
	return u.SessionEpoch, nil
}

// Lost ends a user's sessions in the console and the portal after the loss of such a right.
func Lost(tx *sqldb.Tx, userID int64) {
	tx.Queue(`UPDATE users SET staff_epoch = staff_epoch + 1 WHERE id = $1`, userID)
}

// MayAssist refuses an actor a sign-in link for a user with a role, a membership or an open
// invitation, because the actor could use these rights. Only an admin with a second factor may make
// one, and no token. Nobody may make one for a guest, because the session would continue in the account
// that the guest becomes.
func (b *Store) MayAssist(ctx context.Context, by audit.Actor, u User) error {
	return b.mayAssist(ctx, b.DB, by, u, b.Now())
}

func (b *Store) mayAssist(ctx context.Context, r sqldb.Reader, by audit.Actor, u User, now time.Time) error {
	if u.Guest() {
		return fault.New(fault.Conflict, codeIsGuest,
			"This person is a guest, and only the link that we email to them signs them in. If the address is wrong, "+
				"change it, or merge the guest into an account.")
	}
	refusal, err := b.guarded(ctx, r, u, now)
	if err != nil || refusal == nil || by.Kind == audit.BySystem {
		return err
	}
	if by.Kind == audit.ByUser {
		actor, err := sqldb.One(ctx, r, scan, `SELECT `+columns+` FROM users WHERE id = $1`, by.ID)
		if err != nil {
			return fmt.Errorf("read who makes a sign-in link: %w", err)
		}
		if actor.Role == RoleAdmin && actor.SecondFactor {
			return nil
		}
	}
	return refusal
}

// guarded returns the refusal of a sign-in link for the user. It is nil if everyone with the right
// to help buyers may make it.
func (b *Store) guarded(ctx context.Context, r sqldb.Reader, u User, now time.Time) (refusal, err error) {
	const only = "Only an admin with a second factor can make a sign-in link for them, in the console."
	if u.Operator() {
		return fault.New(fault.Forbidden, CodeOperatorAccount, "This person is an operator. "+only), nil
	}
	if b.Serves != nil {
		serves, err := b.Serves(ctx, r, u.ID)
		if err != nil {
			return nil, err
		}
		if serves {
			return fault.New(fault.Forbidden, CodeMemberAccount, "This person is a member of a partner. "+only), nil
		}
	}
	invited, err := invitation.Waits(ctx, r, u.Email, now)
	if err != nil || !invited {
		return nil, err
	}
	return fault.New(fault.Forbidden, codeInvitedAccount, "This person has an open invitation to a team. "+only), nil
}
