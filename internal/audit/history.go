package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"claviger/internal/sqldb"
)

// Span is a part of a partner's history, newest first. What is zero does not narrow.
type Span struct {
	Before   int64     // entries with smaller ids
	From, To time.Time // when it was done: From included, To not
	Limit    int
}

// History returns the entries about a partner: what its members, its programs and the
// marketplace did to it. more says whether older ones follow; the next span begins
// before the last entry of this one, so that every page costs the same.
func (l *Log) History(ctx context.Context, partnerID int64, s Span) (entries []Entry, more bool, err error) {
	terms, args := []string{"partner_id = $1", "partner_id <> 0"}, []any{partnerID} // the latter is the index's
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
		`SELECT `+columns+` FROM audit_entries WHERE %s ORDER BY id DESC LIMIT $%d`, strings.Join(terms, " AND "), len(args)), args...)
	if err != nil {
		return nil, false, fmt.Errorf("list a partner's audit entries: %w", err)
	}
	if len(entries) > s.Limit {
		return entries[:s.Limit], true, nil
	}
	return entries, false, nil
}

// Origin is who acted, as far as a partner may learn it.
type Origin string

// The origins of acts.
const (
	FromMember      Origin = "member"      // a person of the partner, whose id Actor has
	FromProgram     Origin = "api_key"     // a program of the partner
	FromMarketplace Origin = "marketplace" // people and programs of the marketplace, the service itself, and buyers
)

// Origin tells a partner who acted. The marketplace does not say which of its people or
// programs it was.
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

// Member is the id of the partner's member who acted, 0 if it was nobody of them.
func (e Entry) Member() int64 {
	if e.Origin() == FromMember {
		return e.Actor.ID
	}
	return 0
}

// Versions returns a text for each of the partners that changes with each entry about it.
func (l *Log) Versions(ctx context.Context, partnerIDs []int64) (map[int64]string, error) {
	found, err := sqldb.VersionsOfEach(ctx, l.DB, partnerIDs, 1,
		`SELECT partner_id, id FROM audit_entries WHERE partner_id = $1 AND partner_id <> 0 ORDER BY id DESC LIMIT 1`)
	if err != nil {
		return nil, fmt.Errorf("read the newest audit entries of partners: %w", err)
	}
	return found, nil
}
