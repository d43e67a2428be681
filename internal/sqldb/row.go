package sqldb

import (
	"fmt"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/ncruces/go-sqlite3"
)

// Row is one row of a result, valid while its scan function runs. Only one of lite and pg is set.
type Row struct {
	lite *sqlite3.Stmt
	pg   pgx.Rows
	dest []any // reused for each row
}

// Scan copies the row's columns, in order, into dest: pointers to int, int64, string, bool,
// time.Time, or to a type based on int, int64 or string. dest stays on the caller's stack, because
// lists are long.
func (r *Row) Scan(dest ...any) error {
	if r.lite != nil {
		return scanSQLite(r.lite, dest)
	}
	r.dest = r.dest[:0]
	for _, d := range dest {
		if t, ok := d.(*time.Time); ok {
			d = (*nanos)(t)
		}
		r.dest = append(r.dest, d)
	}
	return r.pg.Scan(r.dest...)
}

// Values returns the columns of the row as int64, string or bool. SQLite has no bool: there it is an
// int64.
func (r *Row) Values() ([]any, error) {
	if r.lite == nil {
		return r.pg.Values()
	}
	row := make([]any, r.lite.ColumnCount())
	for i := range row {
		switch r.lite.ColumnType(i) {
		case sqlite3.TEXT:
			row[i] = r.lite.ColumnText(i)
		case sqlite3.INTEGER:
			row[i] = r.lite.ColumnInt64(i)
		default:
			return nil, fmt.Errorf(
				"the column %s has a value, %q, of no known type", r.lite.ColumnName(i), r.lite.ColumnText(i),
			)
		}
	}
	return row, nil
}

func scanSQLite(r *sqlite3.Stmt, dest []any) error {
	if n := r.ColumnCount(); n != len(dest) {
		return fmt.Errorf("%d columns for %d places", n, len(dest))
	}
	for i, d := range dest {
		switch p := d.(type) {
		case *int64:
			*p = r.ColumnInt64(i)
		case *int:
			*p = int(r.ColumnInt64(i))
		case *string:
			*p = r.ColumnText(i)
		case *bool:
			*p = r.ColumnInt64(i) != 0
		case *time.Time:
			*p = fromNanos(r.ColumnInt64(i))
		default:
			v := reflect.ValueOf(d).Elem()
			switch v.Kind() {
			case reflect.Int, reflect.Int64:
				v.SetInt(r.ColumnInt64(i))
			case reflect.String:
				v.SetString(r.ColumnText(i))
			default:
				return fmt.Errorf("column %d cannot be scanned into %T", i, d)
			}
		}
	}
	return nil
}

// toNanos converts a time to its stored form.
func toNanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// plain converts an argument of a named type to its underlying type.
func plain(arg any) (any, error) {
	v := reflect.ValueOf(arg)
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.String:
		return v.String(), nil
	case reflect.Bool:
		return v.Bool(), nil
	default:
		return nil, fmt.Errorf("an argument of type %T cannot be stored", arg)
	}
}
