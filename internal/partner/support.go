package partner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/mail"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// The bounds of visits as support.
const (
	SupportLife = 30 * time.Minute
	visitKept   = 30 * 24 * time.Hour // after it expired; the audit has it for ever
)

// SupportVisit is an operator's look at a partner's portal as support. It counts in the
// session in which it was begun, and may change nothing until it is said that it may.
type SupportVisit struct {
	ID        int64
	PartnerID int64
	UserID    int64
	Session   string // its id
	Reason    string // for operators
	BegunAt   time.Time
	ExpiresAt time.Time
	ActsSince time.Time // zero: it may change nothing
}

// Acts reports whether the visit may change something.
func (v SupportVisit) Acts() bool { return !v.ActsSince.IsZero() }

const visitColumns = `support_visits.id, support_visits.partner_id, support_visits.user_id, support_visits.session, support_visits.reason,
	support_visits.begun_at, support_visits.expires_at, support_visits.acts_since`

func (v *SupportVisit) fields() []any {
	return []any{&v.ID, &v.PartnerID, &v.UserID, &v.Session, &v.Reason, &v.BegunAt, &v.ExpiresAt, &v.ActsSince}
}

func scanVisit(r *sqldb.Row, v *SupportVisit) error { return r.Scan(v.fields()...) }

// SupportAccess is a visit with the partner and what it may do now.
type SupportAccess struct {
	Visit   SupportVisit
	Partner Partner
	Role    Role // Viewer as long as the visit may change nothing
	Ceiling Role // what the operator may do at most
}

func scanSupport(r *sqldb.Row, a *SupportAccess) error {
	return r.Scan(a.Partner.fields(a.Visit.fields()...)...)
}

// openVisit is the condition of visits that go on.
const openVisit = `support_visits.ended_at = 0 AND support_visits.expires_at > `

// SupportAccess returns the visit as support that a user has begun in a session at a
// partner, as it is stored now. Without one the partner is answered as one that does not
// exist; so it is if the user is no longer an operator who may.
func (r *Registry) SupportAccess(ctx context.Context, partnerID, userID int64, session string) (SupportAccess, error) {
	return r.supportAccess(ctx, `support_visits.user_id = $1 AND support_visits.partner_id = $2 AND support_visits.session = $3 AND support_visits.session <> '' AND `+openVisit+`$4
		ORDER BY support_visits.id DESC LIMIT 1`, userID, partnerID, session, r.Now())
}

func (r *Registry) supportAccess(ctx context.Context, where string, args ...any) (SupportAccess, error) {
	a, err := sqldb.One(ctx, r.DB, scanSupport, `SELECT `+columns+`, `+visitColumns+` FROM support_visits
		JOIN partners ON partners.id = support_visits.partner_id WHERE `+where, args...)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return SupportAccess{}, Unknown()
	case err != nil:
		return SupportAccess{}, fmt.Errorf("read a visit as support: %w", err)
	}
	if r.Supports == nil {
		return SupportAccess{}, Unknown()
	}
	if a.Ceiling, err = r.Supports(ctx, a.Visit.UserID); err != nil {
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

// AccessOf returns what a user may do for a partner, as a member or, if they act so, as
// support. Work that outlasts a request asks it again.
func (r *Registry) AccessOf(ctx context.Context, by audit.Actor, partnerID int64) (Access, error) {
	if by.SupportVisit == 0 {
		return r.Access(ctx, partnerID, by.ID)
	}
	a, err := r.supportAccess(ctx, `support_visits.id = $1 AND support_visits.partner_id = $2 AND support_visits.user_id = $3 AND `+openVisit+`$4`,
		by.SupportVisit, partnerID, by.ID, r.Now())
	return Access{Partner: a.Partner, Role: a.Role}, err
}

// Support lets operators into the portals of partners. That they may is the caller's to
// know.
type Support struct {
	Partners    *Registry
	Mail        *mail.Outbox
	Marketplace string // what the mail calls the marketplace
	PublicURL   string // without a slash at its end

	// Emails returns the addresses of users who have one: account.Emails.
	Emails func(ctx context.Context, r sqldb.Reader, ids []int64) (map[int64]string, error)
}

// Begin begins a visit in the session of an operator and mails the partner's admins that
// it does. The reason is for operators: neither the mail nor the portal has it.
func (s *Support) Begin(ctx context.Context, by audit.Actor, partnerID int64, reason string) (SupportVisit, error) {
	reason, err := validate.Line("reason", reason, 1, maxReason)
	if err != nil {
		return SupportVisit{}, err
	}
	if by.Session == "" {
		return SupportVisit{}, fault.New(fault.Forbidden, CodeVisitEnded, "Only a person who is signed in can enter as support.")
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
		v, err = sqldb.One(ctx, tx, scanVisit, `INSERT INTO support_visits (partner_id, user_id, session, reason, begun_at, expires_at, acts_since, ended_at)
			VALUES ($1, $2, $3, $4, $5, $6, 0, 0) RETURNING `+visitColumns, partnerID, by.ID, by.Session, reason, now, now.Add(SupportLife))
		if err != nil {
			return err
		}
		audit.Record(tx, now, v.actor(by), "support.enter", subject(partnerID), nil, audit.Facts{"visit_id": v.ID, "reason": reason})
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
		WHERE user_id = $1 AND partner_id = $2 AND session = $3 AND `+openVisit+`$4 LIMIT 1`, by.ID, partnerID, by.Session, now)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return nil
	case err != nil:
		return fmt.Errorf("look for an open visit: %w", err)
	}
	return fault.New(fault.Conflict, CodeVisitOpen, "You are in this portal as support already. Go on there, or leave first.")
}

// tell mails the partner's admins that a visit begins.
func (s *Support) tell(ctx context.Context, tx *sqldb.Tx, p Partner, v SupportVisit) error {
	ids, err := sqldb.All(ctx, tx, sqldb.Value[int64], `SELECT user_id FROM members WHERE partner_id = $1 AND role = $2 ORDER BY user_id`, p.ID, Admin)
	if err != nil {
		return fmt.Errorf("find the admins: %w", err)
	}
	emails, err := s.Emails(ctx, tx, ids)
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

// message is the mail to an admin. It has nothing that an operator typed: a reason may
// name a buyer.
func (s *Support) message(p Partner, v SupportVisit, userID int64, to string) mail.Message {
	c := mail.Content{
		Title: fmt.Sprintf("Support of %s looks at the portal of %s", s.Marketplace, p.Name),
		Hello: "Hello,",
		Opening: []string{
			fmt.Sprintf("A person of the support of %s has entered the partner portal of %s, at %s. The visit ends by %s at the latest.",
				s.Marketplace, p.Name, v.BegunAt.UTC().Format("15:04 UTC on 2 January 2006"), v.ExpiresAt.UTC().Format("15:04 UTC")),
			"They see your pages, but neither your credentials nor your team. They change nothing unless they take a second step for that.",
		},
		Closing: []string{"Everything that they do is in your audit, also whether they took that step. If you did not expect this, ask us."},
		Links:   []mail.Link{{Name: "Look at the audit", URL: fmt.Sprintf("%s/portal/%d/audit", s.PublicURL, p.ID)}},
		Foot:    fmt.Sprintf("You get this mail because you are an admin of %s at %s.", p.Name, s.Marketplace),
	}
	text, html := c.Render()
	return mail.Message{Cause: fmt.Sprintf("support visit %d:%d", v.ID, userID), To: to, Subject: c.Title, Text: text, HTML: html}
}

// actor is the operator as the audit names them: as support of the partner.
func (v SupportVisit) actor(by audit.Actor) audit.Actor {
	by.ActingFor, by.SupportVisit = v.PartnerID, v.ID
	return by
}

// Allow lets the visit of a session change something for the rest of its time.
func (s *Support) Allow(ctx context.Context, by audit.Actor, partnerID int64) error {
	return s.change(ctx, by, partnerID, "support.allow", `acts_since = $1`, `AND acts_since = 0`)
}

// Leave ends the visit of a session. One that has ended is left alone.
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
		v, err := sqldb.One(ctx, tx, scanVisit, `UPDATE support_visits SET `+set+` WHERE user_id = $2 AND partner_id = $3 AND session = $4 AND `+openVisit+`$1 `+where+`
			RETURNING `+visitColumns, now, by.ID, partnerID, by.Session)
		if errors.Is(err, sqldb.ErrNone) {
			return fault.New(fault.Conflict, CodeVisitEnded, "Your visit as support has ended, or was changed meanwhile. Nothing was changed; look at the partner's page.")
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

// PruneVisits removes visits as support that expired some time ago, and returns how many
// there were.
func (r *Registry) PruneVisits(ctx context.Context) (int64, error) {
	n, err := r.DB.DeleteInBatches(ctx, r.Now().Add(-visitKept), `DELETE FROM support_visits WHERE id IN (
		SELECT id FROM support_visits WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`)
	if err != nil {
		return n, fmt.Errorf("prune visits as support: %w", err)
	}
	return n, nil
}
