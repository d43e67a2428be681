package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"claviger/internal/sqldb"
)

// Span is a part of a partner's history, newest first. Zero fields do not narrow it.
type Span struct {
	Before   int64     // entries with smaller ids
	From, To time.Time // time of the act: From inclusive, To exclusive
	Limit    int
}

// History returns the entries about a partner: the acts of its members, its programs and the
// marketplace. more reports whether older ones follow; the next span begins before the last entry
// of this one, so that every page costs the same.
func (l *Log) History(ctx context.Context, partnerID int64, s Span) (entries []Entry, more bool, err error) {
	terms := []string{"partner_id = $1", "partner_id <> 0"}
	args := []any{partnerID} // the second for the index
	add := func(comparison string, value any) {
		args = append(args, value)
		terms = append(terms, fmt.Sprintf("%s $%d", comparison, len(args)))
	}
	if s.Before > 0 {
		add("id <", s.Before)
	}
	if !s.From.IsZero() {
		add("at >=", s.From)
	}
	if !s.To.IsZero() {
		add("at <", s.To)
	}
	args = append(args, s.Limit+1)
	entries, err = sqldb.All(ctx, l.DB, scanEntry, fmt.Sprintf(
		`SELECT `+columns+` FROM audit_entries WHERE %s ORDER BY id DESC LIMIT $%d`,
		strings.Join(terms, " AND "),
		len(args),
	), args...)
	if err != nil {
		return nil, false, fmt.Errorf("list a partner's audit entries: %w", err)
	}
	if len(entries) > s.Limit {
		return entries[:s.Limit], true, nil
	}
	return entries, false, nil
}

// Origin is the actor of an entry, as far as a partner may know it.
type Origin string

// Origins of acts.
const (
	FromMember      Origin = "member"      // a person of the partner, with the id in Actor
	FromProgram     Origin = "api_key"     // a program of the partner
	FromMarketplace Origin = "marketplace" // people and programs of the marketplace, the service itself, and buyers
)

// Origin returns the origin that a partner may see. It does not reveal which of the marketplace's
// people or programs acted.
func (e Entry) Origin() Origin {
	switch {
	case e.Actor.SupportVisit != 0:
		return FromMarketplace
	case e.Actor.Kind == ByUser && e.Actor.ActingFor != 0 && e.Actor.ActingFor == e.PartnerID:
		return FromMember
	case e.Actor.Kind == ByPartner && e.Actor.ID == e.PartnerID:
		return FromProgram
	default:
		return FromMarketplace
	}
}

// Member returns the id of the partner's member if one acted, otherwise 0.
func (e Entry) Member() int64 {
	if e.Origin() == FromMember {
		return e.Actor.ID
	}
	return 0
}

// Versions returns a version text per partner. It changes with each entry about it.
func (l *Log) Versions(ctx context.Context, partnerIDs []int64) (map[int64]string, error) {
	found, err := sqldb.VersionsOfEach(ctx, l.DB, partnerIDs, 1,
		`SELECT partner_id, id FROM audit_entries WHERE partner_id = $1 AND partner_id <> 0 ORDER BY id DESC LIMIT 1`)
	if err != nil {
		return nil, fmt.Errorf("read the newest audit entries of partners: %w", err)
	}
	return found, nil
}
