// Package audit records acts with their actors, and the state before and after. It owns the table
// of entries but not their content. The acting package writes the entry, in the transaction of the
// act, so that there is no act without its entry.
//
// Entries are never removed. They contain no secret and no personal data of people with a right to
// be erased: people are identified by their ids, and the display of an entry looks up their names.
// The address of a person's client is removed after ClientKept.
package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// Kinds of actors.
const (
	ByToken   = "token"   // a program of the marketplace, by its operator token
	ByUser    = "user"    // a signed-in user
	ByPartner = "partner" // a partner's program, by its API key
	BySystem  = "system"  // the service itself, or its command line
)

// Actor is the actor of an entry. ID is that of the token, user or partner; 0 for the system.
type Actor struct {
	Kind    string
	ID      int64
	Name    string // of a token, a partner or the system; never of a user
	Session string // of a user: the id of the session; "" if there is none
	Client  string // of a user: the address of their client; "" if unknown

	// ActingFor is the partner that a user acts for as a member; 0 if they act for themselves or
	// for the marketplace.
	ActingFor int64

	// SupportVisit is the id of the visit if an operator acts for a partner as its support and not
	// as its member; 0 otherwise.
	SupportVisit int64
}

// System returns the actor of acts without a person or program, such as a command line.
func System(name string) Actor { return Actor{Kind: BySystem, Name: name} }

// ParseActor parses a selection of actors: a kind, or one of its actors as in user:3.
func ParseActor(s string) (kind string, id int64, ok bool) {
	kind, number, one := strings.Cut(s, ":")
	if one {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 1 || kind == BySystem {
			return "", 0, false
		}
		id = n
	}
	return kind, id, slices.Contains([]string{ByToken, ByUser, ByPartner, BySystem}, kind)
}

// Entry is one act. Before and After are compact JSON objects, "" if there is nothing to tell.
type Entry struct {
	ID            int64
	At            time.Time
	Actor         Actor
	Action        string // the act: "partner.create", "license.hold"
	Subject       string // its object: "partner:1", "license:<key>"
	Before, After string
	PartnerID     int64 // the partner that it concerns, or that the actor is a member of; 0: none
}

// Facts are an entry's facts about its subject, by their names in the APIs.
type Facts map[string]any

// Act is an act to be recorded.
type Act struct {
	By            Actor
	Action        string
	Subject       string
	Before, After any // nil: there is nothing to tell
}

// Record queues the entry of an act in the act's transaction.
func Record(tx *sqldb.Tx, at time.Time, by Actor, action, subject string, before, after any) {
	RecordAll(tx, at, []Act{{by, action, subject, before, after}})
}

// RecordAll does the same as Record, for several acts.
func RecordAll(tx *sqldb.Tx, at time.Time, acts []Act) {
	rows := make([][]any, len(acts))
	for i, a := range acts {
		by := a.By
		rows[i] = []any{
			at, by.Kind, by.ID, by.Name, by.Session, by.Client, a.Action, a.Subject, text(a.Before), text(a.After),
			cmp.Or(partnerOf(a.Subject), by.ActingFor), by.ActingFor, by.SupportVisit,
		}
	}
	tx.Insert("audit_entries", []string{
		"at", "actor_kind", "actor_id", "actor_name", "session", "client", "action", "subject", "before",
		"after", "partner_id", "acting_for", "support_visit",
	}, rows)
}

// partnerOf returns the partner in a subject such as "partner:1" or "partner:1/plan:2", 0 if there
// is none.
func partnerOf(subject string) int64 {
	rest, ok := strings.CutPrefix(subject, "partner:")
	if !ok {
		return 0
	}
	number, _, _ := strings.Cut(rest, "/")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// text returns v as compact JSON, "" for nil. A value that cannot be encoded is a mistake of the
// caller; the entry then says so, because an act must not fail for its record.
func text(v any) string {
	if v == nil {
		return ""
	}
	if f, ok := v.(Facts); ok {
		if b, ok := f.append(nil); ok {
			return string(b)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprintf(`{"not_encoded":%q}`, fmt.Sprintf("%T", v))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// append writes facts of the usual types in the format of encoding/json, which takes several times
// as long; false means that there are other types.
func (f Facts) append(b []byte) ([]byte, bool) {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(f)) {
		if i > 0 {
			b = append(b, ',')
		}
		var ok bool
		if b, ok = appendText(b, name); !ok {
			return nil, false
		}
		if b, ok = appendFact(append(b, ':'), f[name]); !ok {
			return nil, false
		}
	}
	return append(b, '}'), true
}

func appendFact(b []byte, v any) ([]byte, bool) {
	switch v := v.(type) {
	case int:
		return strconv.AppendInt(b, int64(v), 10), true
	case int64:
		return strconv.AppendInt(b, v, 10), true
	case bool:
		return strconv.AppendBool(b, v), true
	case string:
		return appendText(b, v)
	case []string:
		if v == nil {
			return nil, false
		}
		b = append(b, '[')
		for i, s := range v {
			if i > 0 {
				b = append(b, ',')
			}
			var ok bool
			if b, ok = appendText(b, s); !ok {
				return nil, false
			}
		}
		return append(b, ']'), true
	default:
		return nil, false
	}
}

// appendText writes a text that needs no escapes.
func appendText(b []byte, s string) ([]byte, bool) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return nil, false
		}
	}
	return append(append(append(b, '"'), s...), '"'), true
}

// Log reads the entries.
type Log struct{ DB *sqldb.DB }

// Filter narrows a list of entries; zero fields do not narrow it.
type Filter struct {
	Subject   string
	Action    string
	ActorKind string
	ActorID   int64     // used with ActorKind
	From, To  time.Time // time of the act: From inclusive, To exclusive
	PartnerID int64     // the partner that it concerns, or that the actor is a member of
}

// List returns one page of the entries that match f, newest first unless the page says otherwise,
// and whether more follow.
func (l *Log) List(ctx context.Context, f Filter, p paging.Page) (entries []Entry, more bool, err error) {
	where, args := f.where()
	order := "DESC"
	if p.Order == paging.OldestFirst {
		order = "ASC"
	}
	args = append(args, p.Limit+1, p.Offset())
	entries, err = sqldb.All(ctx, l.DB, scanEntry, fmt.Sprintf(
		`SELECT `+columns+` FROM audit_entries %s ORDER BY id %s LIMIT $%d OFFSET $%d`,
		where,
		order,
		len(args)-1,
		len(args),
	), args...)
	if err != nil {
		return nil, false, fmt.Errorf("list audit entries: %w", err)
	}
	if int64(len(entries)) > p.Limit {
		return entries[:p.Limit], true, nil
	}
	return entries, false, nil
}

// where returns the condition of the filter; only its values come from outside.
func (f Filter) where() (string, []any) {
	var terms []string
	var args []any
	add := func(comparison string, value any) {
		args = append(args, value)
		terms = append(terms, fmt.Sprintf("%s $%d", comparison, len(args)))
	}
	if f.Subject != "" {
		add("subject =", f.Subject)
	}
	if f.Action != "" {
		add("action =", f.Action)
	}
	if f.ActorKind == ByUser {
		terms = append(terms, "actor_kind = '"+ByUser+"'") // the condition of the partial index
	} else if f.ActorKind != "" {
		add("actor_kind =", f.ActorKind)
	}
	if f.ActorID != 0 {
		add("actor_id =", f.ActorID)
	}
	if !f.From.IsZero() {
		add("at >=", f.From)
	}
	if !f.To.IsZero() {
		add("at <", f.To)
	}
	if f.PartnerID != 0 {
		add("partner_id <> 0 AND partner_id =", f.PartnerID) // the first condition is the index's
	}
	if terms == nil {
		return "", nil
	}
	return "WHERE " + strings.Join(terms, " AND "), args
}

const columns = `id, at, actor_kind, actor_id, actor_name, session, client, action, subject, before, after, partner_id,
	acting_for, support_visit`

func scanEntry(r *sqldb.Row, e *Entry) error {
	a := &e.Actor
	return r.Scan(
		&e.ID,
		&e.At,
		&a.Kind,
		&a.ID,
		&a.Name,
		&a.Session,
		&a.Client,
		&e.Action,
		&e.Subject,
		&e.Before,
		&e.After,
		&e.PartnerID,
		&a.ActingFor,
		&a.SupportVisit,
	)
}
