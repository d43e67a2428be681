package sqldb

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// sqliteToken finds what sqliteText translates, and before it all that it must pass over
// whole: literals, quoted names, comments and words, in which a $ means itself. One
// that is not closed goes to the end of the text, as SQLite reads it.
//
// A list of numbers ([]int64) or of texts ([]string) is one argument whatever its length,
// asked for by "= ANY($n)", so that there is one statement to prepare. A column can hold
// one of numbers, too: BIGINT[] on PostgreSQL, TEXT on SQLite.
var sqliteToken = regexp.MustCompile(`(?s)'[^']*(?:'|$)|"[^"]*(?:"|$)|\x60[^\x60]*(?:\x60|$)|\[[^\]]*(?:\]|$)` +
	`|--[^\n]*|/\*.*?(?:\*/|$)|[A-Za-z_\x{80}-\x{10FFFF}][A-Za-z0-9_$\x{80}-\x{10FFFF}]*` +
	`|= ANY\(\$(\d+)\)|\$(\d+)`)

// sqliteText is a text as SQLite understands it: a list is JSON there. SQLite knows
// $1 as a name, numbered by first appearance; ?1 is what everybody else means by $1.
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

// Unnest is a table of one column, value, to select from: the numbers of a list that is
// stored in a column.
func (tx *Tx) Unnest(column string) string { return tx.engine.elements(column) }

// Numbers is such a table of the numbers of a list that is an argument, such as $1. To
// join it with a table takes two thirds of the time of "= ANY($1)" on SQLite.
func (db *DB) Numbers(argument string) string { return db.engine.numbers(argument) }

func (p *postgres) numbers(argument string) string {
	return p.elements("CAST(" + argument + " AS BIGINT[])")
}

func (l *sqlite) numbers(argument string) string { return l.elements(argument) }

func (p *postgres) elements(column string) string { return "unnest(" + column + ") AS elements(value)" }

func (l *sqlite) elements(column string) string { return "json_each(" + column + ") AS elements" }

// PlanOnce has each statement that is queued from now on planned once on its connection,
// for any values, by an index if there is one. PostgreSQL would plan those with lists anew
// in every transaction, since it takes short lists to be cheaper than the usual ones, and
// that takes longer than to run them. A plan that reads the whole of a table while that is
// small would be used until the server looks at the table again, a minute later, when a
// launch day has made it large.
func (tx *Tx) PlanOnce() {
	if sql := tx.engine.planOnce(); sql != "" {
		tx.Queue(sql)
	}
}

func (p *postgres) planOnce() string {
	return "SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)"
}

func (l *sqlite) planOnce() string { return "" }

// Insert queues new rows of a table, which go to the database in the same round trip as
// what is queued beside them. Each has a value for each column, and those of a column
// are of one type: int, int64, string, bool or time.Time.
func (tx *Tx) Insert(table string, columns []string, rows [][]any) {
	tx.insert(&batch{table: table, columns: columns, rows: rows})
}

// Copy is Insert for rows that may be many or long: PostgreSQL copies many, which takes
// two round trips of their own.
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

// InsertNew is Insert for rows of which some may be there already: one that a unique
// index refuses is passed over. The answer is the columns returning of the others.
func InsertNew[T any](tx *Tx, scan func(*Row, *T) error, table string, columns []string, rows [][]any, returning string) *Result[T] {
	a := &Result[T]{tx: tx}
	a.expect(scan, "", nil)
	if len(rows) == 0 {
		a.done = true
		return a
	}
	a.sendAll(tx.engine.insert(&batch{table: table, columns: columns, rows: rows, rest: " ON CONFLICT DO NOTHING RETURNING " + returning}))
	return a
}

// sendAll queues statements whose rows together are the answer.
func (a *Result[T]) sendAll(list []*statement) {
	last := len(list) - 1
	for _, s := range list[:last] {
		s.each = a.each
		a.tx.session.send(s)
	}
	a.sql, a.args = list[last].sql, list[last].args
	a.tx.session.send(&a.statement)
}

// UpdateRows queues changes of rows of a table: of that whose first column has the first
// value, which is unique, the others are set, and besides what the text set says. The
// answer is the first column of each row that was there, and the columns returning. The
// texts name one of columns with its table.
func UpdateRows[T any](tx *Tx, scan func(*Row, *T) error, table string, columns []string, rows [][]any, set, returning string) *Result[T] {
	a := &Result[T]{tx: tx}
	a.expect(scan, "", nil)
	a.sendAll(tx.engine.update(&batch{table: table, columns: columns, rows: rows}, set, returning))
	return a
}

// update is a statement for each row.
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

// update is one statement with a list for each column.
func (p *postgres) update(b *batch, set, returning string) []*statement {
	for _, name := range b.columns[1:] {
		set += ", " + name + " = listed." + name
	}
	lists, args := b.lists()
	key := b.table + "." + b.columns[0]
	return []*statement{{sql: "UPDATE " + b.table + " SET " + set + " FROM unnest(" + lists + ") AS listed(" + strings.Join(b.columns, ", ") +
		") WHERE " + key + " = listed." + b.columns[0] + " RETURNING " + key + ", " + returning, args: args}}
}

// batch is rows for a table.
type batch struct {
	table   string
	columns []string
	rows    [][]any
	rest    string // of the statement, behind the rows
	copied  bool   // they may be copied
}

func (b *batch) into() string {
	return "INSERT INTO " + b.table + " (" + strings.Join(b.columns, ", ") + ") "
}

// insert is a statement for each row: it is prepared once, and a call of SQLite is
// no trip.
func (l *sqlite) insert(b *batch) []*statement { return b.single() }

// single is a statement for each row.
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

// copyFrom is how many rows are cheaper to copy, though that takes two round trips.
const copyFrom = 64

// insert is one statement with a list for each column, the same for any number of rows.
// Many are copied: the server takes and writes them by the page, and nobody has to hold
// all of them in one message.
func (p *postgres) insert(b *batch) []*statement {
	if b.copied && len(b.rows) >= copyFrom {
		return []*statement{{sql: "COPY " + b.table, copied: b}}
	}
	if len(b.rows) == 1 { // which takes half the time so
		return b.single()
	}
	lists, args := b.lists()
	return []*statement{{sql: b.into() + "SELECT * FROM unnest(" + lists + ")" + b.rest, args: args}}
}

// lists are the columns of the rows as arguments of a statement, a list each.
func (b *batch) lists() (text string, args []any) {
	lists, args := make([]string, len(b.columns)), make([]any, len(b.columns))
	for i := range lists {
		var kind string
		args[i], kind = column(b.rows, i)
		lists[i] = fmt.Sprintf("CAST($%d AS %s[])", i+1, kind)
	}
	return strings.Join(lists, ", "), args
}

// column is one column of rows as a list, and PostgreSQL's name of what it is a list of.
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
