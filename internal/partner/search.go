package partner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"claviger/internal/sqldb"
)

// Named returns the partners that match a text, the best match first, at most limit, and whether
// there are more. It matches the whole name or its beginning, beginnings of its words in any order,
// ignoring case, or the external id. It reads the names of all partners, which are few.
func (r *Store) Named(ctx context.Context, text string, limit int) (list []Partner, more bool, err error) {
	type row struct {
		id               int64
		name, externalID string
		rank             int
	}
	rows, err := sqldb.All(ctx, r.DB, func(r *sqldb.Row, v *row) error { return r.Scan(&v.id, &v.name, &v.externalID) },
		`SELECT id, name, external_id FROM partners ORDER BY id`)
	if err != nil {
		return nil, false, fmt.Errorf("read the names of partners: %w", err)
	}
	var found []row
	for _, v := range rows {
		v.rank = nameRank(v.name, text)
		if v.externalID == text && text != "" {
			v.rank = 1
		}
		if v.rank > 0 {
			found = append(found, v)
		}
	}
	slices.SortStableFunc(found, func(a, b row) int { return cmp.Or(a.rank-b.rank, strings.Compare(a.name, b.name)) })
	if more = len(found) > limit; more {
		found = found[:limit]
	}
	ids := make([]int64, len(found))
	for i, v := range found {
		ids[i] = v.id
	}
	if len(ids) == 0 {
		return nil, false, nil
	}
	list, err = sqldb.All(ctx, r.DB, scan, `SELECT `+columns+` FROM partners WHERE id = ANY($1)`, ids)
	if err != nil {
		return nil, false, fmt.Errorf("read partners: %w", err)
	}
	slices.SortFunc(list, func(a, b Partner) int { return slices.Index(ids, a.ID) - slices.Index(ids, b.ID) })
	return list, more, nil
}

// nameRank returns how well a text matches a name: 1 is the name, 2 its beginning, 3 beginnings of
// its words; 0: not at all.
func nameRank(name, text string) int {
	name, text = strings.ToLower(name), strings.ToLower(strings.TrimSpace(text))
	switch {
	case text == "":
		return 0
	case name == text:
		return 1
	case strings.HasPrefix(name, text):
		return 2
	}
	words := strings.Fields(name)
	for _, w := range strings.Fields(text) {
		i := slices.IndexFunc(words, func(of string) bool { return strings.HasPrefix(of, w) })
		if i < 0 {
			return 0
		}
		words = slices.Delete(words, i, i+1)
	}
	return 3
}

// Names returns the names of partners, by id.
func (r *Store) Names(ctx context.Context, ids []int64) (map[int64]string, error) {
	names := make(map[int64]string, len(ids))
	if len(ids) == 0 {
		return names, nil
	}
	type row struct {
		id   int64
		name string
	}
	rows, err := sqldb.All(ctx, r.DB, func(r *sqldb.Row, v *row) error { return r.Scan(&v.id, &v.name) },
		`SELECT partners.id, name FROM `+r.DB.Numbers("$1")+` JOIN partners ON partners.id = value`, ids)
	if err != nil {
		return nil, fmt.Errorf("read the names of partners: %w", err)
	}
	for _, v := range rows {
		names[v.id] = v.name
	}
	return names, nil
}

// Name returns the name of a partner, or sqldb.ErrNone.
func Name(ctx context.Context, r sqldb.Reader, id int64) (string, error) {
	name, err := sqldb.One(ctx, r, sqldb.Value[string], `SELECT name FROM partners WHERE id = $1`, id)
	if err != nil {
		return "", fmt.Errorf("read the name of partner %d: %w", id, err)
	}
	return name, nil
}
