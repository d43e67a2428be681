package sqldb

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
)

// copyTable is a table as it is copied.
type copyTable struct {
	name    string
	columns []copyColumn
	key     []int // positions in columns; none: the table has no key
}

// copyColumn is a column of a table.
type copyColumn struct {
	name string
	kind cellKind
}

// cellKind is what is in a column. A boolean is a number in SQLite, which has none.
type cellKind int

// The kinds.
const (
	cellNumber cellKind = iota
	cellText
	cellBool
)

// cellKinds are the kinds of the columns' types.
var cellKinds = map[string]cellKind{
	"INTEGER": cellNumber, "TEXT": cellText, // SQLite
	"bigint": cellNumber, "text": cellText, "boolean": cellBool, // PostgreSQL
}

// copyText is what a copy asks the two databases differently.
type copyText struct {
	// columns yields table, column, type and the place in the key from 1 on (0: none), by
	// table and place in it.
	columns string
	// references yields a table and one that it refers to.
	references string
	// sequences yields whether ids number the rows of a table, the name of the table or
	// of the sequence, and the last id.
	sequences string
	collate   string // behind a column of text: by bytes
	// begin is the first statement of a transaction that waits for the other database for
	// long, and finish is run once all is copied. "": nothing.
	begin, finish string
}

func (l *sqlite) copyText() copyText {
	return copyText{
		columns: `SELECT m.name, c.name, c.type, c.pk FROM sqlite_schema AS m, pragma_table_info(m.name) AS c
			WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid`,
		references: `SELECT m.name, r."table" FROM sqlite_schema AS m, pragma_foreign_key_list(m.name) AS r WHERE m.type = 'table'`,
		sequences:  `SELECT TRUE, name, seq FROM sqlite_sequence UNION ALL SELECT FALSE, name, last FROM sequences`,
	}
}

func (p *postgres) copyText() copyText {
	return copyText{
		columns: `SELECT t.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod), coalesce(array_position(k.indkey::int2[], a.attnum), -1) + 1
			FROM pg_class AS t JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
			LEFT JOIN pg_index AS k ON k.indrelid = t.oid AND k.indisprimary
			WHERE t.relkind = 'r' AND t.relnamespace = current_schema()::regnamespace ORDER BY t.relname::text COLLATE "C", a.attnum`,
		references: `SELECT t.relname::text, o.relname::text FROM pg_constraint AS r JOIN pg_class AS t ON t.oid = r.conrelid JOIN pg_class AS o ON o.oid = r.confrelid
			WHERE r.contype = 'f' AND r.connamespace = current_schema()::regnamespace`,
		sequences: `SELECT t.oid IS NOT NULL, coalesce(t.relname, s.relname)::text, coalesce(pg_sequence_last_value(s.oid), 0) FROM pg_class AS s
			LEFT JOIN pg_depend AS d ON d.objid = s.oid AND d.deptype = 'i' AND d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
			LEFT JOIN pg_class AS t ON t.oid = d.refobjid
			WHERE s.relkind = 'S' AND s.relnamespace = current_schema()::regnamespace`,
		collate: ` COLLATE "C"`,
		begin:   `SELECT set_config('idle_in_transaction_session_timeout', '0', true)`,
		finish:  `ANALYZE`,
	}
}

// beginCopy makes a transaction one that may wait for the other database.
func (tx *Tx) beginCopy() {
	if sql := tx.engine.copyText().begin; sql != "" {
		tx.Queue(sql)
	}
}

// ownTables are those of this package, which each database has for itself.
var ownTables = []string{"migrations", "sequences", "copies", "copied_tables"}

// storedColumn is a column as a database describes it.
type storedColumn struct {
	table, name, kind string
	key               int // its place in the key from 1 on; 0: none
}

// columns reads which columns a database has, in the order of their tables, without those
// of this package.
func (s *copySide) columns(ctx context.Context) ([]storedColumn, error) {
	list, err := All(ctx, s.db, func(r *Row, c *storedColumn) error {
		return r.Scan(&c.table, &c.name, &c.kind, &c.key)
	}, s.db.engine.copyText().columns)
	return slices.DeleteFunc(list, func(c storedColumn) bool { return slices.Contains(ownTables, c.table) }), err
}

// tables reads which tables a database has, in the order of their names, without those
// of this package.
func (s *copySide) tables(ctx context.Context) ([]copyTable, error) {
	list, err := s.columns(ctx)
	if err != nil {
		return nil, err
	}
	var tables []copyTable
	places := map[string]map[int]int{} // the positions of a table's key columns by their place in it
	for _, c := range list {
		if n := len(tables); n == 0 || tables[n-1].name != c.table {
			tables = append(tables, copyTable{name: c.table})
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
		t.columns = append(t.columns, copyColumn{c.name, kind})
	}
	for i := range tables {
		of := places[tables[i].name]
		for place := 1; place <= len(of); place++ {
			tables[i].key = append(tables[i].key, of[place])
		}
	}
	return tables, nil
}

// readTables returns what is copied, each table behind those that it refers to. A column
// is a boolean if one of the databases says so.
func (r *copyRun) readTables(ctx context.Context) ([]copyTable, error) {
	from, err := r.from.tables(ctx)
	if err != nil {
		return nil, err
	}
	to, err := r.to.tables(ctx)
	if err != nil {
		return nil, err
	}
	others := map[string]copyTable{}
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
	from = slices.DeleteFunc(from, func(t copyTable) bool { return slices.Contains(r.Skip, t.name) })
	return r.from.inOrder(ctx, from)
}

// agree checks that the table has the same columns in the other database.
func (t copyTable) agree(other copyTable) error {
	byName := func(a, b copyColumn) int { return cmp.Compare(a.name, b.name) }
	sorted := slices.SortedFunc(slices.Values(other.columns), byName)
	if len(sorted) != len(t.columns) {
		return fmt.Errorf("the table %s has %d columns in one database and %d in the other", t.name, len(t.columns), len(sorted))
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

// inOrder puts each table behind those that it refers to.
func (s *copySide) inOrder(ctx context.Context, tables []copyTable) ([]copyTable, error) {
	refs, err := All(ctx, s.db, func(r *Row, v *[2]string) error { return r.Scan(&v[0], &v[1]) }, s.db.engine.copyText().references)
	if err != nil {
		return nil, err
	}
	var done []copyTable
	waits := func(t copyTable) bool {
		return slices.ContainsFunc(refs, func(r [2]string) bool {
			return r[0] == t.name && r[1] != t.name && slices.ContainsFunc(tables, func(o copyTable) bool { return o.name == r[1] })
		})
	}
	for len(tables) > 0 {
		n := slices.IndexFunc(tables, func(t copyTable) bool { return !waits(t) })
		if n < 0 {
			return nil, fmt.Errorf("the table %s refers to itself by others", tables[0].name)
		}
		done = append(done, tables[n])
		tables = slices.Delete(tables, n, n+1)
	}
	return done, nil
}

// freshRows counts the rows that migrations make, in a new database of its own.
func (r *copyRun) freshRows(ctx context.Context) (rows map[string]int64, err error) {
	dir, err := os.MkdirTemp("", "claviger-copy-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system clears its temporary folder too
	s := &copySide{url: filepath.Join(dir, "fresh.db"), options: Options{Log: r.Log}}
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if _, err := s.db.Migrate(ctx); err != nil {
		return nil, err
	}
	tables, err := s.tables(ctx)
	if err != nil {
		return nil, err
	}
	rows = map[string]int64{}
	for _, t := range tables {
		if rows[t.name], err = One(ctx, s.db, Value[int64], `SELECT count(*) FROM `+t.name); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (t copyTable) names() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return names
}

// query asks for the rows behind a key, in the order of the key; of a table without one, in
// the order of all columns.
func (t copyTable) query(of copyText, last []any) string {
	by := t.key
	if len(by) == 0 {
		for i := range t.columns {
			by = append(by, i)
		}
	}
	columns, marks := make([]string, len(by)), make([]string, len(last))
	for i, n := range by {
		columns[i] = t.columns[n].name
		if t.columns[n].kind == cellText {
			columns[i] += of.collate
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
