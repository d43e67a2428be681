package partner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// Limits of support visits.
const (
	SupportLife = 30 * time.Minute
	visitKept   = 30 * 24 * time.Hour // after it expired; the audit keeps it forever
)

// SupportVisit is an operator's visit to a partner's portal as support. It is valid only in the
// session in which it began, and is read-only until Allow.
type SupportVisit struct {
	ID        int64
	PartnerID int64
	UserID    int64
	Session   string // its id
	Reason    string // for operators
	BegunAt   time.Time
	ExpiresAt time.Time
	ActsSince time.Time // zero: it is read-only
}

// Acts reports whether the visit may make changes.
func (v SupportVisit) Acts() bool { return !v.ActsSince.IsZero() }

const visitColumns = `support_visits.id, support_visits.partner_id, support_visits.user_id, support_visits.session,
	support_visits.reason,
	support_visits.begun_at, support_visits.expires_at, support_visits.acts_since`

func (v *SupportVisit) fields() []any {
	return []any{&v.ID, &v.PartnerID, &v.UserID, &v.Session, &v.Reason, &v.BegunAt, &v.ExpiresAt, &v.ActsSince}
}

func scanVisit(r *sqldb.Row, v *SupportVisit) error { return r.Scan(v.fields()...) }

// SupportAccess is a visit with the partner and its current rights.
type SupportAccess struct {
	Visit   SupportVisit
	Partner Partner
	Role    Role // Viewer while the visit is read-only
	Ceiling Role // the highest role of the operator
}

func scanSupport(r *sqldb.Row, a *SupportAccess) error {
	return r.Scan(a.Partner.fields(a.Visit.fields()...)...)
}

// openVisit is the condition for open visits.
const openVisit = `support_visits.ended_at = 0 AND support_visits.expires_at > `

// SupportAccess returns the current support visit of a user's session at a partner. Without one, or
// if the user is no longer an operator with the right to it, the partner is reported as unknown.
func (r *Store) SupportAccess(ctx context.Context, partnerID, userID int64, session string) (SupportAccess, error) {
	return r.supportAccess(
		ctx,
		`support_visits.user_id = $1 AND support_visits.partner_id = $2 AND support_visits.session = $3
			AND support_visits.session <> '' AND `+openVisit+`$4
		ORDER BY support_visits.id DESC LIMIT 1`,
		userID,
		partnerID,
		session,
		r.Now(),
	)
}

func (r *Store) supportAccess(ctx context.Context, where string, args ...any) (SupportAccess, error) {
	a, err := sqldb.One(ctx, r.DB, scanSupport, `SELECT `+columns+`, `+visitColumns+` FROM support_visits
		JOIN partners ON partners.id = support_visits.partner_id WHERE `+where, args...)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return SupportAccess{}, Unknown()
	case err != nil:
		return SupportAccess{}, fmt.Errorf("read a visit as support: %w", err)
	}
	if a.Ceiling, err = r.ceiling(ctx, a.Visit.UserID); err != nil {
		return SupportAccess{}, err
	}
	if !a.Ceiling.Covers(Viewer) {
		return SupportAccess{}, Unknown()
	}
	a.Role = Viewer
	if a.Visit.Acts() {
		a.Role = a.Ceiling
	}
	return a, nil
}

// ceiling returns the highest role of an operator in a partner's portal as support: no more than
// with the operator API, where changes of a partner need an admin. "" means none.
func (r *Store) ceiling(ctx context.Context, userID int64) (Role, error) {
	if r.Accounts == nil {
		return "", nil
	}
	u, err := r.Accounts.Get(ctx, userID)
	switch {
	case fault.Is(err, account.CodeUnknownUser):
		return "", nil
	case err != nil:
		return "", err
	case !u.ErasedAt.IsZero() || r.Accounts.Require.Of(u) && !u.SecondFactor:
		return "", nil
	case u.Role.May(account.Admin):
		return Admin, nil
	case u.Role.May(account.Support):
		return Developer, nil
	}
	return "", nil
}

// AccessOf returns a user's rights for a partner, as a member or, if by says so, as support. Work
// that outlasts a request checks it again.
func (r *Store) AccessOf(ctx context.Context, by audit.Actor, partnerID int64) (Access, error) {
	if by.SupportVisit == 0 {
		return r.Access(ctx, partnerID, by.ID)
	}
	a, err := r.supportAccess(
		ctx,
		`support_visits.id = $1 AND support_visits.partner_id = $2 AND support_visits.user_id = $3 AND `+openVisit+`$4`,
		by.SupportVisit,
		partnerID,
		by.ID,
		r.Now(),
	)
	return Access{Partner: a.Partner, Role: a.Role}, err
}

// Support lets operators into the portals of partners. The caller checks their right to it.
type Support struct {
	Partners    *Store
	Mail        *mail.Outbox
	Marketplace string // name of the marketplace in the email
	PublicURL   string // without a trailing slash
}

// Begin begins a visit in the session of an operator and notifies the partner's admins by email.
// The reason is for operators: neither the email nor the portal shows it.
func (s *Support) Begin(ctx context.Context, by audit.Actor, partnerID int64, reason string) (SupportVisit, error) {
	reason, err := validate.Line("reason", reason, 1, maxReason)
	if err != nil {
		return SupportVisit{}, err
	}
	if by.Session == "" {
		return SupportVisit{}, fault.New(
			fault.Forbidden,
			CodeVisitEnded,
			"Only a person who is signed in can enter as support.",
		)
	}
	var v SupportVisit
	err = s.Partners.DB.Write(ctx, func(tx *sqldb.Tx) error {
		p, err := lock(ctx, tx, partnerID)
		if err != nil {
			return err
		}
		now := s.Partners.Now()
		if err := noVisit(ctx, tx, by, partnerID, now); err != nil {
			return err
		}
		v, err = sqldb.One(
			ctx,
			tx,
			scanVisit,
			`INSERT INTO support_visits (partner_id, user_id, session, reason, begun_at, expires_at, acts_since,
				ended_at)
			VALUES ($1, $2, $3, $4, $5, $6, 0, 0) RETURNING `+visitColumns,
			partnerID,
			by.ID,
			by.Session,
			reason,
			now,
			now.Add(SupportLife),
		)
		if err != nil {
			return err
		}
		audit.Record(
			tx,
			now,
			v.actor(by),
			"support.enter",
			subject(partnerID),
			nil,
			audit.Facts{"visit_id": v.ID, "reason": reason},
		)
		return s.tell(ctx, tx, p, v)
	})
	if err != nil {
		return SupportVisit{}, fmt.Errorf("enter as support: %w", err)
	}
	return v, nil
}

// noVisit refuses a second visit in the same session. The partner is locked.
func noVisit(ctx context.Context, tx *sqldb.Tx, by audit.Actor, partnerID int64, now time.Time) error {
	_, err := sqldb.One(ctx, tx, scanVisit, `SELECT `+visitColumns+` FROM support_visits
		WHERE user_id = $1 AND partner_id = $2 AND session = $3
		AND `+openVisit+`$4 LIMIT 1`, by.ID, partnerID, by.Session, now)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return nil
	case err != nil:
		return fmt.Errorf("look for an open visit: %w", err)
	}
	return fault.New(
		fault.Conflict,
		CodeVisitOpen,
		"You are in this portal as support already. Go on there, or leave first.",
	)
}

// tell emails the partner's admins that a visit begins.
func (s *Support) tell(ctx context.Context, tx *sqldb.Tx, p Partner, v SupportVisit) error {
	ids, err := sqldb.All(
		ctx,
		tx,
		sqldb.Value[int64],
		`SELECT user_id FROM members WHERE partner_id = $1 AND role = $2 ORDER BY user_id`,
		p.ID,
		Admin,
	)
	if err != nil {
		return fmt.Errorf("find the admins: %w", err)
	}
	emails, err := account.Emails(ctx, tx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if to := emails[id]; to != "" {
			s.Mail.Put(tx, s.message(p, v, id, to), v.BegunAt)
		}
	}
	return nil
}

// message returns the email to an admin. It has no text that an operator typed: a reason may name a
// buyer.
func (s *Support) message(p Partner, v SupportVisit, userID int64, to string) mail.Message {
	c := mail.Content{
		Title: fmt.Sprintf("Support of %s looks at the portal of %s", s.Marketplace, p.Name),
		Hello: "Hello,",
		Opening: []string{
			fmt.Sprintf(
				"A person of the support of %s has entered the partner portal of %s, at %s. The visit ends by %s at "+
					"the latest.",
				s.Marketplace,
				p.Name,
				v.BegunAt.UTC().Format("15:04 UTC on 2 January 2006"),
				v.ExpiresAt.UTC().Format("15:04 UTC"),
			),
			"They see your pages, but neither your credentials nor your team. They change nothing unless they take " +
				"a second step for that.",
		},
		Closing: []string{
			"Everything that they do is in your audit, also whether they took that step. If you did not expect " +
				"this, ask us.",
		},
		Links: []mail.Link{{Name: "Look at the audit", URL: fmt.Sprintf("%s/portal/%d/audit", s.PublicURL, p.ID)}},
		Foot:  fmt.Sprintf("You get this mail because you are an admin of %s at %s.", p.Name, s.Marketplace),
	}
	text, html := c.Render()
	return mail.Message{
		Cause:   fmt.Sprintf("support visit %d:%d", v.ID, userID),
		To:      to,
		Subject: c.Title,
		Text:    text,
		HTML:    html,
	}
}

// actor returns the operator as an actor for the audit: as support of the partner.
func (v SupportVisit) actor(by audit.Actor) audit.Actor {
	by.ActingFor = v.PartnerID
	by.SupportVisit = v.ID
	return by
}

// Allow lets the visit of a session make changes for the rest of its time.
func (s *Support) Allow(ctx context.Context, by audit.Actor, partnerID int64) error {
	return s.change(ctx, by, partnerID, "support.allow", `acts_since = $1`, `AND acts_since = 0`)
}

// Leave ends the visit of a session. An ended one is not changed.
func (s *Support) Leave(ctx context.Context, by audit.Actor, partnerID int64) error {
	err := s.change(ctx, by, partnerID, "support.leave", `ended_at = $1`, "")
	if fault.Is(err, CodeVisitEnded) {
		return nil
	}
	return err
}

// change changes the open visit of a session.
func (s *Support) change(ctx context.Context, by audit.Actor, partnerID int64, action, set, where string) error {
	err := s.Partners.DB.Write(ctx, func(tx *sqldb.Tx) error {
		now := s.Partners.Now()
		v, err := sqldb.One(
			ctx,
			tx,
			scanVisit,
			`UPDATE support_visits
				SET `+set+` WHERE user_id = $2 AND partner_id = $3 AND session = $4 AND `+openVisit+`$1 `+where+`
			RETURNING `+visitColumns,
			now,
			by.ID,
			partnerID,
			by.Session,
		)
		if errors.Is(err, sqldb.ErrNone) {
			return fault.New(
				fault.Conflict,
				CodeVisitEnded,
				"Your visit as support has ended, or was changed meanwhile. Nothing was changed; look at the "+
					"partner's page.",
			)
		}
		if err != nil {
			return err
		}
		audit.Record(tx, now, v.actor(by), action, subject(partnerID), nil, audit.Facts{"visit_id": v.ID})
		return nil
	})
	if err != nil {
		return fmt.Errorf("change a visit as support: %w", err)
	}
	return nil
}

// Expiring lists the rows that expire: support visits.
func Expiring() []prune.Rule {
	return []prune.Rule{{Table: "support_visits", At: "expires_at", Keep: visitKept}}
}
