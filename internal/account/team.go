package account

import (
	"context"
	"fmt"
	"slices"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/invitation"
	"claviger/internal/mail"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// MaxOperators is the maximum number of operators of the marketplace.
const MaxOperators = 200

// FirstLinkLife is how long the link of AddOperator works.
const FirstLinkLife = 30 * time.Minute

// lockTeam locks the team of operators for the rest of the transaction. A lock on a user comes
// before it.
func lockTeam(ctx context.Context, tx *sqldb.Tx) error {
	if _, err := tx.Exec(ctx, `UPDATE operator_team SET version = version + 1 WHERE id = 1`); err != nil {
		return fmt.Errorf("lock the team of operators: %w", err)
	}
	return nil
}

// Operators returns the marketplace's own team, the earliest member first.
func (b *Store) Operators(ctx context.Context) ([]User, error) {
	list, err := sqldb.All(
		ctx,
		b.DB,
		scan,
		`SELECT `+columns+` FROM users WHERE operator_role <> '' ORDER BY operator_since, id LIMIT $1`,
		MaxOperators,
	)
	if err != nil {
		return nil, fmt.Errorf("list operators: %w", err)
	}
	return list, nil
}

// OperatorsWho returns the members of the marketplace's own team with a right, by id.
func OperatorsWho(ctx context.Context, r sqldb.Reader, may Scope) ([]User, error) {
	list, err := sqldb.All(
		ctx, r, scan, `SELECT `+columns+` FROM users WHERE operator_role <> '' ORDER BY id LIMIT $1`, MaxOperators,
	)
	if err != nil {
		return nil, fmt.Errorf("list operators with a right: %w", err)
	}
	return slices.DeleteFunc(list, func(u User) bool { return !u.Role.May(may) || u.Email == "" }), nil
}

// Operator returns the operator with the id.
func (b *Store) Operator(ctx context.Context, id int64) (User, error) {
	u, err := b.Get(ctx, id)
	if err == nil && !u.Operator() {
		return User{}, unknownOperator()
	}
	return u, err
}

func unknownOperator() error {
	return fault.New(
		fault.Missing, codeUnknownOperator, "No member of the team has this id; the person may have left it.",
	)
}

// mayManage refuses actors that are no longer admins, under the lock of the team: their role may
// have changed since the request was authorized.
func mayManage(ctx context.Context, tx *sqldb.Tx, by audit.Actor) error {
	if by.Kind != audit.ByUser {
		return nil
	}
	role, err := sqldb.One(ctx, tx, sqldb.Value[string], `SELECT operator_role FROM users WHERE id = $1`, by.ID)
	if err != nil {
		return fmt.Errorf("read the role of who changes the team: %w", err)
	}
	if Role(role) != RoleAdmin {
		return unknownOperator()
	}
	return nil
}

// dispensable refuses to remove the role of the last admin. The team is locked, so that one admin
// stays if two remove each other concurrently.
func (u User) dispensable(ctx context.Context, tx *sqldb.Tx) error {
	if u.Role != RoleAdmin {
		return nil
	}
	others, err := sqldb.One(ctx, tx, sqldb.Value[int64],
		`SELECT count(*) FROM users WHERE operator_role <> '' AND operator_role = $1 AND id <> $2`, RoleAdmin, u.ID)
	if err != nil {
		return fmt.Errorf("count the other admins: %w", err)
	}
	if others == 0 {
		return fault.New(
			fault.Conflict,
			CodeLastAdmin,
			"The marketplace needs an admin, and no one else is one. Make another member an admin first, then do "+
				"this again.",
		)
	}
	return nil
}

// ChangeRole gives an operator another role. was is the role that the sender saw: if the role has
// changed since, ChangeRole refuses.
func (b *Store) ChangeRole(ctx context.Context, by audit.Actor, id int64, was, role Role) (User, error) {
	if err := role.valid(); err != nil {
		return User{}, err
	}
	return b.changeTeam(ctx, id, "change an operator's role", func(tx *sqldb.Tx, u User) (User, error) {
		if err := mayManage(ctx, tx, by); err != nil {
			return User{}, err
		}
		if u.Role != was {
			return User{}, fault.New(
				fault.Conflict,
				codeOperatorChanged,
				"This person's role has been changed from %s to %s since the page was shown. Nothing was changed; "+
					"look at the team as it is now.",
				was,
				u.Role,
			)
		}
		return u.setRole(ctx, tx, by, role, b.Now())
	})
}

// RemoveOperator removes a person's role, and ends the invitations that they sent. People can
// remove themselves with any role.
func (b *Store) RemoveOperator(ctx context.Context, by audit.Actor, id int64) error {
	_, err := b.changeTeam(ctx, id, "remove an operator", func(tx *sqldb.Tx, u User) (User, error) {
		if leaves := by.Kind == audit.ByUser && by.ID == id; !leaves {
			if err := mayManage(ctx, tx, by); err != nil {
				return User{}, err
			}
		}
		return u.setRole(ctx, tx, by, "", b.Now())
	})
	return err
}

// changeTeam locks an operator and the team. change checks that the actor may do it.
func (b *Store) changeTeam(
	ctx context.Context,
	id int64,
	doing string,
	change func(*sqldb.Tx, User) (User, error),
) (User, error) {
	var u User
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if u, err = lock(ctx, tx, id); err != nil {
			return err
		}
		if err := lockTeam(ctx, tx); err != nil {
			return err
		}
		if !u.Operator() {
			return unknownOperator()
		}
		u, err = change(tx, u)
		return err
	})
	if err != nil {
		return User{}, fmt.Errorf("%s: %w", doing, err)
	}
	return u, nil
}

// Added is the result of AddOperator.
type Added struct {
	User    User
	Again   bool      // already an operator: second factors and sessions were removed
	URL     string    // of a link that signs them in once and leads to the console
	Expires time.Time // of the link
}

// AddOperator makes the person with an address an admin of the marketplace, and returns a link that
// signs them in. It is for people with access to the database: for the first admin, and for an
// admin who is locked out. If the person is already an operator, it removes their second factors
// and sessions.
func (b *Store) AddOperator(ctx context.Context, by audit.Actor, email string) (Added, error) {
	var a Added
	token := secret.Make("")
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := b.Now()
		u, created, _, err := find(ctx, tx, Person{Email: email}, now)
		if err != nil {
			return err
		}
		if created {
			audit.Record(tx, now, by, "user.create", subject(u.ID), nil, u.facts())
		}
		if a.Again = u.Operator(); a.Again {
			if _, err := b.RemoveFactors(ctx, tx, by, u.ID, now); err != nil {
				return err
			}
		}
		if a.User, err = SetRole(ctx, tx, by, u.ID, RoleAdmin, now); err != nil {
			return err
		}
		l := link{userID: u.ID, purpose: ForSignIn, next: "/console/", life: FirstLinkLife}
		if err := l.insert(ctx, tx, token, now); err != nil {
			return err
		}
		a.URL = b.address(ForSignIn, token)
		a.Expires = l.expiresAt
		audit.Record(tx, now, by, "user.link", subject(u.ID), nil, nil)
		return nil
	})
	if err != nil {
		return Added{}, fmt.Errorf("add an operator: %w", err)
	}
	return a, nil
}

// Inviter invites people to the team of operators. Package invitation does most of the work.
type Inviter struct{ Accounts *Store }

// InvitationPath is the page that an invitation opens. Its parameter is token.
const InvitationPath = "/console/invitation"

func (v Inviter) book() *invitation.Store {
	b := v.Accounts
	return &invitation.Store{DB: b.DB, Now: b.Now, Mail: b.Mail, PublicURL: b.PublicURL}
}

// isMarketplace reports whether an invitation's team is the team of operators.
func isMarketplace(team int64) bool { return team == invitation.Marketplace }

// team returns the team of operators, for changes by the actor.
func (v Inviter) team(by audit.Actor) invitation.Team {
	return invitation.Team{
		ID: invitation.Marketplace, Subject: "operators", Action: "operator.invite", Path: InvitationPath,
		Lock: func(ctx context.Context, tx *sqldb.Tx) error {
			if err := lockTeam(ctx, tx); err != nil {
				return err
			}
			return mayManage(ctx, tx, by)
		},
		CheckSize: checkTeamSize,
		Content: func(n invitation.Invitation) mail.Content {
			name := v.Accounts.marketplace()
			role := Role(n.Role)
			return mail.Content{
				Title: fmt.Sprintf("You are invited to the team of %s", name),
				Opening: []string{
					fmt.Sprintf("The team of %s invites you to its console, as %s. %s", name, role, role.Sentence()),
				},
				Foot: fmt.Sprintf("You get this mail because an admin of %s typed this address.", name),
			}
		},
	}
}

// checkTeamSize refuses another operator if there are MaxOperators.
func checkTeamSize(ctx context.Context, tx *sqldb.Tx) error {
	n, err := sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT count(*) FROM users WHERE operator_role <> ''`)
	if err != nil {
		return fmt.Errorf("count operators: %w", err)
	}
	if n >= MaxOperators {
		return fault.New(
			fault.Conflict,
			invitation.CodeTooManyInvitations,
			"A team has at most %d members. Remove one first.",
			MaxOperators,
		)
	}
	return nil
}

// Invite emails an invitation to an address. It replaces an open one, whose link ends.
func (v Inviter) Invite(ctx context.Context, by audit.Actor, email string, role Role) (invitation.Invitation, error) {
	if err := role.valid(); err != nil {
		return invitation.Invitation{}, err
	}
	return v.book().Invite(ctx, by, v.team(by), email, string(role))
}

// List returns the open and the recently expired invitations, newest first.
func (v Inviter) List(ctx context.Context) ([]invitation.Invitation, error) {
	return v.book().List(ctx, invitation.Marketplace)
}

// Get returns an open invitation.
func (v Inviter) Get(ctx context.Context, id int64) (invitation.Invitation, error) {
	return v.book().Get(ctx, invitation.Marketplace, id)
}

// Withdraw ends an open invitation.
func (v Inviter) Withdraw(ctx context.Context, by audit.Actor, id int64) error {
	return v.book().Withdraw(ctx, by, v.team(by), id)
}

// Open returns the invitation of a token without using it: email scanners open links, too.
func (v Inviter) Open(ctx context.Context, token string) (invitation.Invitation, error) {
	return v.book().Open(ctx, v.Accounts.DB, token, isMarketplace)
}

// Accept makes a user an operator, once. The invitation must be for the user's proven address. A
// user who is already an operator keeps their role. Accept ends all sessions except those begun
// with the returned user.
func (v Inviter) Accept(
	ctx context.Context,
	by audit.Actor,
	userID int64,
	proof invitation.Proof,
	token string,
) (User, error) {
	b := v.Accounts
	var u User
	err := b.DB.Write(ctx, func(tx *sqldb.Tx) (err error) {
		if u, err = lock(ctx, tx, userID); err != nil {
			return err
		}
		n, err := v.book().
			Accept(ctx, tx, proof, token, isMarketplace, func(invitation.Invitation) error { return lockTeam(ctx, tx) })
		if err != nil || u.Operator() {
			return err
		}
		if err := checkTeamSize(ctx, tx); err != nil {
			return err
		}
		u, err = u.setRole(ctx, tx, by, Role(n.Role), b.Now())
		return err
	})
	if err != nil {
		return User{}, fmt.Errorf("accept an invitation: %w", err)
	}
	return u, nil
}
