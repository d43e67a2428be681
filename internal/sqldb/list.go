package sqldb

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// sqliteToken matches the parts that sqliteText translates. Before them it matches the parts to
// skip, in which $ has no meaning: literals, quoted names, comments and words. An unclosed one
// extends to the end of the text, as in SQLite.
//
// A list of numbers ([]int64) or strings ([]string) is one argument of any length, used as "=
// ANY($n)", so there is one statement to prepare.
var sqliteToken = regexp.MustCompile(`(?s)'[^']*(?:'|$)|"[^"]*(?:"|$)|\x60[^\x60]*(?:\x60|$)|\[[^\]]*(?:\]|$)` +
	`|--[^\n]*|/\*.*?(?:\*/|$)|[A-Za-z_\x{80}-\x{10FFFF}][A-Za-z0-9_$\x{80}-\x{10FFFF}]*` +
	`|= ANY\(\$(\d+)\)|\$(\d+)`)

// sqliteText translates a statement for SQLite, where a list is JSON. SQLite treats $1 as a name,
// numbered by first appearance; its ?1 is the first argument.
func sqliteText(sql string) string {
	var b strings.Builder
	done := 0
	for _, m := range sqliteToken.FindAllStringSubmatchIndex(sql, -1) {
		switch {
		case m[2] >= 0:
			b.WriteString(sql[done:m[0]] + "IN (SELECT value FROM json_each(?" + sql[m[2]:m[3]] + "))")
		case m[4] >= 0:
			b.WriteString(sql[done:m[0]] + "?" + sql[m[4]:m[5]])
		default:
			continue
		}
		done = m[1]
	}
	return b.String() + sql[done:]
}

func sqliteList(list []int64) string {
	b := append(make([]byte, 0, 2+12*len(list)), '[')
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(append(b, ']'))
}

func sqliteTexts(list []string) (string, error) {
	b, err := json.Marshal(list)
	return string(b), err
}

// Numbers returns a table expression with one column, value: the numbers of a list argument such as
// $1. On SQLite a join with it takes two thirds of the time of "= ANY($1)".
func (db *DB) Numbers(argument string) string { return db.engine.numbers(argument) }

func (p *postgres) numbers(argument string) string {
	return "unnest(CAST(" + argument + " AS BIGINT[])) AS elements(value)"
}

func (l *sqlite) numbers(argument string) string { return "json_each(" + argument + ") AS elements" }

// Seek returns the condition that a column has the value of an argument, and that an id is at one side of
// another argument: op is <, <=, > or >=. A list in the order of both columns begins at that place of
// their index. PostgreSQL needs a comparison of rows for that: for equality it may take the order from the
// primary key, and skip the rows of all others. SQLite does not seek with rows that have a primary key.
func (db *DB) Seek(column, argument, id, op, at string) string {
	return db.engine.seek(column, argument, id, op, at)
}

func (p *postgres) seek(column, argument, id, op, at string) string {
	return "(" + column + ", " + id + ") " + op + " (" + argument + ", " + at + ")"
}

func (l *sqlite) seek(column, argument, id, op, at string) string {
	return column + " = " + argument + " AND " + id + " " + op + " " + at
}

// PlanOnce makes PostgreSQL plan the statements queued after it once per connection, for any
// values. Otherwise it plans statements with lists again in every transaction, because it assumes
// short lists to be cheaper; that takes longer than running them. Plans use an index if there is
// one. A table scan planned while the table is small would stay in use until the next analyze, a
// minute later. By then a launch day has made the table large.
func (tx *Tx) PlanOnce() {
	if sql := tx.engine.planOnce(); sql != "" {
		tx.Queue(sql)
	}
}

func (p *postgres) planOnce() string {
	return "SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)"
}

func (l *sqlite) planOnce() string { return "" }

// Insert queues new rows of a table; they share the round trip of the statements queued with them.
// Each row has a value for each column. The values of a column have one type: int, int64, string,
// bool or time.Time.
func (tx *Tx) Insert(table string, columns []string, rows [][]any) {
	tx.insert(&batch{table: table, columns: columns, rows: rows})
}

// Copy is Insert for many or long rows: PostgreSQL copies many of them, with two extra round trips.
func (tx *Tx) Copy(table string, columns []string, rows [][]any) {
	tx.insert(&batch{table: table, columns: columns, rows: rows, copied: true})
}

func (tx *Tx) insert(b *batch) {
	if len(b.rows) == 0 {
		return
	}
	for _, s := range tx.engine.insert(b) {
		tx.session.send(s)
	}
}

// InsertNew is Insert that skips rows rejected by a unique index. The result has the columns
// returning of the inserted rows.
func InsertNew[T any](
	tx *Tx,
	scan func(*Row, *T) error,
	table string,
	columns []string,
	rows [][]any,
	returning string,
) *Result[T] {
	a := &Result[T]{tx: tx}
	a.expect(scan, "", nil)
	if len(rows) == 0 {
		a.done = true
		return a
	}
	a.sendAll(
		tx.engine.insert(
			&batch{table: table, columns: columns, rows: rows, rest: " ON CONFLICT DO NOTHING RETURNING " + returning},
		),
	)
	return a
}

// sendAll queues statements that together yield the result.
func (a *Result[T]) sendAll(list []*statement) {
	last := len(list) - 1
	for _, s := range list[:last] {
		s.each = a.each
		a.tx.session.send(s)
	}
	a.sql = list[last].sql
	a.args = list[last].args
	a.tx.session.send(&a.statement)
}

// UpdateRows queues updates of a table. The first of columns is unique and selects the row; the
// others are set, together with the assignments in set. The result has the first column of each row
// found, and the columns returning. set and returning must qualify names of columns by table.
func UpdateRows[T any](
	tx *Tx,
	scan func(*Row, *T) error,
	table string,
	columns []string,
	rows [][]any,
	set, returning string,
) *Result[T] {
	a := &Result[T]{tx: tx}
	a.expect(scan, "", nil)
	a.sendAll(tx.engine.update(&batch{table: table, columns: columns, rows: rows}, set, returning))
	return a
}

// update returns one statement per row.
func (l *sqlite) update(b *batch, set, returning string) []*statement {
	for i, name := range b.columns[1:] {
		set += fmt.Sprintf(", %s = $%d", name, i+2)
	}
	key := b.columns[0]
	sql := "UPDATE " + b.table + " SET " + set + " WHERE " + key + " = $1 RETURNING " + key + ", " + returning
	list := make([]*statement, len(b.rows))
	for i, row := range b.rows {
		list[i] = &statement{sql: sql, args: row}
	}
	return list
}

// update returns one statement with a list for each column.
func (p *postgres) update(b *batch, set, returning string) []*statement {
	for _, name := range b.columns[1:] {
		set += ", " + name + " = listed." + name
	}
	lists, args := b.lists()
	key := b.table + "." + b.columns[0]
	return []*statement{
		{
			sql: "UPDATE " + b.table + " SET " + set + " FROM unnest(" + lists + ") AS listed(" + strings.Join(
				b.columns,
				", ",
			) +
				") WHERE " + key + " = listed." + b.columns[0] + " RETURNING " + key + ", " + returning,
			args: args,
		},
	}
}

// batch is a set of rows for a table.
type batch struct {
	table   string
	columns []string
	rows    [][]any
	rest    string // of the statement, after the rows
	copied  bool   // may use COPY
}

func (b *batch) into() string {
	return "INSERT INTO " + b.table + " (" + strings.Join(b.columns, ", ") + ") "
}

// insert returns one statement per row: it is prepared once, and calling SQLite needs no round
// trip.
func (l *sqlite) insert(b *batch) []*statement { return b.single() }

// single returns one statement per row.
func (b *batch) single() []*statement {
	marks := make([]string, len(b.columns))
	for i := range marks {
		marks[i] = "$" + strconv.Itoa(i+1)
	}
	sql := b.into() + "VALUES (" + strings.Join(marks, ", ") + ")" + b.rest
	list := make([]*statement, len(b.rows))
	for i, row := range b.rows {
		list[i] = &statement{sql: sql, args: row}
	}
	return list
}

// copyFrom is the number of rows from which COPY is cheaper despite its two round trips.
const copyFrom = 64

// insert returns one statement with a list for each column, the same for any number of rows. Many
// rows use COPY: the server reads and writes them by the page, and no message has to hold all of
// them.
func (p *postgres) insert(b *batch) []*statement {
	if b.copied && len(b.rows) >= copyFrom {
		return []*statement{{sql: "COPY " + b.table, copied: b}}
	}
	if len(b.rows) == 1 { // half the time
		return b.single()
	}
	lists, args := b.lists()
	return []*statement{{sql: b.into() + "SELECT * FROM unnest(" + lists + ")" + b.rest, args: args}}
}

// lists returns the columns of the rows as arguments, one list each.
func (b *batch) lists() (text string, args []any) {
	lists := make([]string, len(b.columns))
	args = make([]any, len(b.columns))
	for i := range lists {
		var kind string
		args[i], kind = column(b.rows, i)
		lists[i] = fmt.Sprintf("CAST($%d AS %s[])", i+1, kind)
	}
	return strings.Join(lists, ", "), args
}

// column returns one column of rows as a list, and PostgreSQL's name of the element type.
func column(rows [][]any, i int) (list any, kind string) {
	switch rows[0][i].(type) {
	case string:
		return gather(rows, i, func(v any) string { return v.(string) }), "text"
	case bool:
		return gather(rows, i, func(v any) bool { return v.(bool) }), "boolean"
	case time.Time:
		return gather(rows, i, func(v any) int64 { return toNanos(v.(time.Time)) }), "bigint"
	case int:
		return gather(rows, i, func(v any) int64 { return int64(v.(int)) }), "bigint"
	default:
		return gather(rows, i, func(v any) int64 { return v.(int64) }), "bigint"
	}
}

func gather[T any](rows [][]any, i int, of func(any) T) []T {
	list := make([]T, len(rows))
	for n, row := range rows {
		list[n] = of(row[i])
	}
	return list
}
