package sqldb

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A list of numbers ([]int64) is one argument whatever its length, asked for by
// "= ANY($n)", so that there is one statement to prepare.
var anyRE = regexp.MustCompile(`= ANY\(\$(\d+)\)`)

// liteText is a text as SQLite understands it: a list is JSON there. SQLite knows
// $1 as a name, numbered by first appearance; ?1 is what everybody else means by $1.
func liteText(sql string) string {
	return strings.ReplaceAll(anyRE.ReplaceAllString(sql, `IN (SELECT value FROM json_each($$$1))`), "$", "?")
}

func liteList(list []int64) string {
	b := append(make([]byte, 0, 2+12*len(list)), '[')
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(append(b, ']'))
}

// Insert queues new rows of a table. Each has a value for each column, and those of a
// column are of one type: int, int64, string, bool or time.Time.
func (tx *Tx) Insert(table string, columns []string, rows [][]any) {
	if len(rows) == 0 {
		return
	}
	into := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") "
	for _, s := range tx.engine.insert(into, rows) {
		tx.session.send(s)
	}
}

// insert is a statement for each row: it is prepared once, and a call of SQLite is
// no trip.
func (l *lite) insert(into string, rows [][]any) []*statement {
	marks := make([]string, len(rows[0]))
	for i := range marks {
		marks[i] = "$" + strconv.Itoa(i+1)
	}
	into += "VALUES (" + strings.Join(marks, ", ") + ")"
	list := make([]*statement, len(rows))
	for i, row := range rows {
		list[i] = &statement{sql: into, args: row}
	}
	return list
}

// insert is one statement with a list for each column: the same for any number of rows.
func (p *postgres) insert(into string, rows [][]any) []*statement {
	lists, args := make([]string, len(rows[0])), make([]any, len(rows[0]))
	for i := range lists {
		var kind string
		args[i], kind = column(rows, i)
		lists[i] = fmt.Sprintf("CAST($%d AS %s[])", i+1, kind)
	}
	return []*statement{{sql: into + "SELECT * FROM unnest(" + strings.Join(lists, ", ") + ")", args: args}}
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
