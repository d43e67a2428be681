package dbcopy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"claviger/internal/sqldb"
)

// table is a table to copy.
type table struct {
	name    string
	columns []column
	key     []int // positions in columns; none: the table has no key
}

// column is a column of a table.
type column struct {
	name string
	kind cellKind
}

// cellKind is the type of a column's values. SQLite stores a boolean as a number.
type cellKind int

// The kinds.
const (
	cellNumber cellKind = iota
	cellText
	cellBool
)

// cellKinds maps column types to kinds.
var cellKinds = map[string]cellKind{
	"INTEGER": cellNumber, "TEXT": cellText, // SQLite
	"bigint": cellNumber, "text": cellText, "boolean": cellBool, // PostgreSQL
}

// dialect has the SQL of a copy that differs between the two databases.
type dialect struct {
	// columns yields table, column, type and position in the key from 1 (0: none), ordered by table
	// and column position.
	columns string
	// references yields a table and another one that it refers to.
	references string
	collate    string // after a text column: compare by bytes
	// begin is the first statement of a transaction that may wait long for the other database.
	// finish runs after everything is copied. Either may be "".
	begin, finish string
}

var sqlite = dialect{
	columns: `SELECT m.name, c.name, c.type, c.pk FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid`,
	references: `SELECT m.name, r."table" FROM sqlite_schema AS m, pragma_foreign_key_list(m.name) AS r
		WHERE m.type = 'table'`,
}

var postgres = dialect{
	columns: `SELECT t.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod),
			coalesce(array_position(k.indkey::int2[], a.attnum), -1) + 1
		FROM pg_class AS t JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_index AS k ON k.indrelid = t.oid AND k.indisprimary
		WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::regnamespace
		ORDER BY t.relname::text COLLATE "C", a.attnum`,
	references: `SELECT t.relname::text, o.relname::text FROM pg_constraint AS r
		JOIN pg_class AS t ON t.oid = r.conrelid JOIN pg_class AS o ON o.oid = r.confrelid
		WHERE r.contype = 'f' AND r.connamespace = current_schema()::regnamespace`,
	collate: ` COLLATE "C"`,
	begin:   `SELECT set_config('idle_in_transaction_session_timeout', '0', true)`,
	finish:  `ANALYZE`,
}

func (s *side) dialect() dialect {
	if s.db.File() != "" {
		return sqlite
	}
	return postgres
}

// beginIn lets a transaction wait for the other database.
func (d dialect) beginIn(tx *sqldb.Tx) {
	if d.begin != "" {
		tx.Queue(d.begin)
	}
}

// ownTables are the tables of sqldb and this package; each database has its own.
var ownTables = []string{"migrations", "oldest_program", "sequences", "copies", "copied_tables"}

// storedColumn is a column as the database describes it.
type storedColumn struct {
	table, name, kind string
	key               int // position in the key from 1; 0: none
}

// columns reads the columns of a database, ordered by table, without those of this package.
func (s *side) columns(ctx context.Context) ([]storedColumn, error) {
	list, err := sqldb.All(ctx, s.db, func(r *sqldb.Row, c *storedColumn) error {
		return r.Scan(&c.table, &c.name, &c.kind, &c.key)
	}, s.dialect().columns)
	return slices.DeleteFunc(list, func(c storedColumn) bool { return slices.Contains(ownTables, c.table) }), err
}

// tables reads the tables of a database, ordered by name, without those of this package.
func (s *side) tables(ctx context.Context) ([]table, error) {
	list, err := s.columns(ctx)
	if err != nil {
		return nil, err
	}
	var tables []table
	places := map[string]map[int]int{} // table → position in the key → position in columns
	for _, c := range list {
		if n := len(tables); n == 0 || tables[n-1].name != c.table {
			tables = append(tables, table{name: c.table})
			places[c.table] = map[int]int{}
		}
		t := &tables[len(tables)-1]
		kind, ok := cellKinds[c.kind]
		if !ok {
			return nil, fmt.Errorf("%s.%s is of the type %s, which cannot be copied", c.table, c.name, c.kind)
		}
		if c.key > 0 {
			places[c.table][c.key] = len(t.columns)
		}
		t.columns = append(t.columns, column{c.name, kind})
	}
	for i := range tables {
		of := places[tables[i].name]
		for place := 1; place <= len(of); place++ {
			tables[i].key = append(tables[i].key, of[place])
		}
	}
	return tables, nil
}

// readTables returns the tables to copy, each after those that it refers to. A column is a boolean
// if it is one in either database.
func (r *transfer) readTables(ctx context.Context) ([]table, error) {
	from, err := r.from.tables(ctx)
	if err != nil {
		return nil, err
	}
	to, err := r.to.tables(ctx)
	if err != nil {
		return nil, err
	}
	others := map[string]table{}
	for _, t := range to {
		others[t.name] = t
	}
	for _, t := range from {
		if err := t.agree(others[t.name]); err != nil {
			return nil, err
		}
		delete(others, t.name)
	}
	for name := range others {
		return nil, fmt.Errorf("only %s has the table %s", r.to.name, name)
	}
	from = slices.DeleteFunc(from, func(t table) bool { return slices.Contains(r.Skip, t.name) })
	return r.from.inOrder(ctx, from)
}

// agree checks that the table has the same columns in the other database.
func (t table) agree(other table) error {
	byName := func(a, b column) int { return cmp.Compare(a.name, b.name) }
	sorted := slices.SortedFunc(slices.Values(other.columns), byName)
	if len(sorted) != len(t.columns) {
		return fmt.Errorf(
			"the table %s has %d columns in one database and %d in the other",
			t.name,
			len(t.columns),
			len(sorted),
		)
	}
	for i, c := range t.columns {
		n, found := slices.BinarySearchFunc(sorted, c, byName)
		if !found {
			return fmt.Errorf("only one of the databases has the column %s.%s", t.name, c.name)
		}
		if t.columns[i].kind = max(c.kind, sorted[n].kind); c.kind != sorted[n].kind && t.columns[i].kind == cellText {
			return fmt.Errorf("%s.%s is a text in one database and a number in the other", t.name, c.name)
		}
	}
	return nil
}

// inOrder sorts each table after those that it refers to.
func (s *side) inOrder(ctx context.Context, tables []table) ([]table, error) {
	refs, err := sqldb.All(
		ctx,
		s.db,
		func(r *sqldb.Row, v *[2]string) error { return r.Scan(&v[0], &v[1]) },
		s.dialect().references,
	)
	if err != nil {
		return nil, err
	}
	var done []table
	waits := func(t table) bool {
		return slices.ContainsFunc(refs, func(r [2]string) bool {
			return r[0] == t.name && r[1] != t.name &&
				slices.ContainsFunc(tables, func(o table) bool { return o.name == r[1] })
		})
	}
	for len(tables) > 0 {
		n := slices.IndexFunc(tables, func(t table) bool { return !waits(t) })
		if n < 0 {
			return nil, fmt.Errorf("the table %s refers to itself by others", tables[0].name)
		}
		done = append(done, tables[n])
		tables = slices.Delete(tables, n, n+1)
	}
	return done, nil
}

// freshRows counts the rows that migrations create, in a new temporary database.
func (r *transfer) freshRows(ctx context.Context) (rows map[string]int64, err error) {
	dir, err := os.MkdirTemp("", "claviger-copy-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system also cleans its temporary folder
	s := &side{url: filepath.Join(dir, "fresh.db"), options: sqldb.Options{Log: r.Log}}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if _, err := s.db.MigrateLike(ctx, r.from.db); err != nil {
		return nil, err
	}
	tables, err := s.tables(ctx)
	if err != nil {
		return nil, err
	}
	rows = map[string]int64{}
	for _, t := range tables {
		if rows[t.name], err = sqldb.One(ctx, s.db, sqldb.Value[int64], `SELECT count(*) FROM `+t.name); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (t table) names() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return names
}

// query selects the rows after a key, in key order. Without a key it orders by all columns.
func (t table) query(d dialect, last []any) string {
	by := t.key
	if len(by) == 0 {
		for i := range t.columns {
			by = append(by, i)
		}
	}
	columns := make([]string, len(by))
	marks := make([]string, len(last))
	for i, n := range by {
		columns[i] = t.columns[n].name
		if t.columns[n].kind == cellText {
			columns[i] += d.collate
		}
	}
	order := strings.Join(columns, ", ")
	where := ""
	if len(last) > 0 {
		for i := range last {
			marks[i] = "$" + strconv.Itoa(i+1)
		}
		where = " WHERE (" + order + ") > (" + strings.Join(marks, ", ") + ")"
	}
	return "SELECT " + strings.Join(t.names(), ", ") + " FROM " + t.name + where + " ORDER BY " + order
}
