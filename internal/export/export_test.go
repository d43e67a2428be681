package export_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/audit"
	"claviger/internal/export"
	"claviger/internal/fault"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

var (
	noon   = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	person = audit.Actor{Kind: audit.ByUser, ID: 7}
)

// table returns a list of this many batches of two rows.
func table(batches int) export.Table {
	n := 0
	return export.Table{
		Kind: export.Licenses, Columns: []string{"id", "name", "at"},
		About: func(context.Context) (export.Estimate, error) { return export.Estimate{Rows: int64(2 * batches)}, nil },
		Next: func(context.Context) (rows [][]export.Cell, more bool, err error) {
			for range 2 {
				n++
				rows = append(rows, []export.Cell{export.Number(n), export.Text(fmt.Sprint("row ", n)), export.Time(noon)})
			}
			return rows, n < 2*batches, nil
		},
	}
}

func anybody(context.Context) error { return nil }

func newExporter(t *testing.T) *export.Exporter {
	return &export.Exporter{DB: sqldbtest.Open(t), Now: func() time.Time { return noon }}
}

// newest returns the person's newest export.
func newest(t *testing.T, x *export.Exporter) export.Progress {
	t.Helper()
	list, err := x.Of(t.Context(), person, 1)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list[0]
}

// TestCells: only texts that a spreadsheet would read as a formula are changed, and only in CSV.
func TestCells(t *testing.T) {
	cells := []export.Cell{
		export.Text("=1+1"), export.Text("+49"), export.Text("-x"), export.Text("@a"), export.Text("\ttab"), export.Text("\rcr"),
		export.Text("a=b"), export.Text(`say "hi", you`), export.Text("two\nlines"), export.Text("#complete"), export.Text(""),
		export.Number(-5), export.Number(12), export.Bool(true), export.Time(noon), export.Time(time.Time{}), export.ID(0), export.JSON(`{"a":"=1"}`), export.JSON(""),
		export.Text("＝1+1"), export.Text("＋49"), export.Text("－x"), export.Text("＠a"), export.Text("é＝"),
	}
	columns := make([]string, len(cells))
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d", i)
	}
	for format, want := range map[export.Format]string{
		export.CSV: strings.Join(columns, ",") + "\n" +
			"'=1+1,'+49,'-x,'@a,'\ttab,\"'\rcr\",a=b,\"say \"\"hi\"\", you\",\"two\nlines\",\"#complete\",,-5,12,true,2026-11-15T12:00:00.000000Z,,,\"{\"\"a\"\":\"\"=1\"\"}\",,'＝1+1,'＋49,'－x,'＠a,é＝\n" +
			"#complete,1" + strings.Repeat(",", len(cells)-2) + "\n",
		export.NDJSON: `{"c0":"=1+1","c1":"+49","c2":"-x","c3":"@a","c4":"\ttab","c5":"\rcr","c6":"a=b","c7":"say \"hi\", you","c8":"two\nlines","c9":"#complete","c10":"",` +
			`"c11":-5,"c12":12,"c13":true,"c14":"2026-11-15T12:00:00.000000Z","c15":null,"c16":null,"c17":{"a":"=1"},"c18":null,"c19":"＝1+1","c20":"＋49","c21":"－x","c22":"＠a","c23":"é＝"}` + "\n" +
			`{"export_complete":true,"rows":1}` + "\n",
	} {
		one := export.Table{Kind: export.Audit, Columns: columns, Next: func(context.Context) ([][]export.Cell, bool, error) {
			return [][]export.Cell{cells}, false, nil
		}}
		var b bytes.Buffer
		if err := newExporter(t).Run(t.Context(), &b, export.Job{Table: one, Format: format, By: person, Check: anybody}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", format, diff)
		}
	}
}

// TestCheckedBeforeEachBatch: a person who loses access gets no further batch, and the file is not
// marked as complete.
func TestCheckedBeforeEachBatch(t *testing.T) {
	x, left := newExporter(t), 3 // one before it begins
	var b bytes.Buffer
	removed := errors.New("not a member any more")
	err := x.Run(t.Context(), &b, export.Job{Table: table(5), By: person, Nonce: "n", Check: func(context.Context) error {
		if left--; left < 0 {
			return removed
		}
		return nil
	}})
	if want := "id,name,at\n1,row 1,2026-11-15T12:00:00.000000Z\n2,row 2,2026-11-15T12:00:00.000000Z\n3,row 3,2026-11-15T12:00:00.000000Z\n4,row 4,2026-11-15T12:00:00.000000Z\n"; !errors.Is(err, removed) || b.String() != want {
		t.Errorf("%v, %q", err, b.String())
	}
	if p := newest(t, x); p.State != export.Ended || p.Rows != 4 {
		t.Errorf("%+v", p)
	}
}

// TestRefusedExport: an export that may not begin leaves nothing, not even a count of rows.
func TestRefusedExport(t *testing.T) {
	x := newExporter(t)
	list := table(1)
	list.About = func(context.Context) (export.Estimate, error) {
		t.Error("the rows are counted")
		return export.Unknown, nil
	}
	removed := errors.New("not a member any more")
	var b bytes.Buffer
	err := x.Run(t.Context(), &b, export.Job{Table: list, By: person, Nonce: "n", Check: func(context.Context) error { return removed }})
	if !errors.Is(err, removed) || b.Len() != 0 {
		t.Errorf("%v, %q", err, b.String())
	}
	n, err := sqldb.One(t.Context(), x.DB, sqldb.Value[int64], `SELECT (SELECT count(*) FROM exports) + (SELECT count(*) FROM audit_entries)`)
	if n != 0 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
}

// TestEndHasTheNumberOfRows: the last line of a CSV file counts the rows of all batches.
func TestEndHasTheNumberOfRows(t *testing.T) {
	var b bytes.Buffer
	if err := newExporter(t).Run(t.Context(), &b, export.Job{Table: table(12), Format: export.CSV, By: person, Check: anybody}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(b.String(), "\n#complete,24,\n") {
		t.Errorf("the file ends in %q", b.String()[b.Len()-20:])
	}
}

// TestFailedBatchIsNotTheEnd: a batch that cannot be read ends the export with its error, and the
// file is not marked as complete.
func TestFailedBatchIsNotTheEnd(t *testing.T) {
	list := table(3)
	read := list.Next
	broken := errors.New("cannot be read")
	batches := 0
	list.Next = func(ctx context.Context) ([][]export.Cell, bool, error) {
		if batches++; batches == 2 {
			return nil, false, broken
		}
		return read(ctx)
	}
	var b bytes.Buffer
	err := newExporter(t).Run(t.Context(), &b, export.Job{Table: list, By: person, Check: anybody})
	if !errors.Is(err, broken) || strings.Contains(b.String(), "#complete") || strings.Count(b.String(), "row") != 2 {
		t.Errorf("%v, %q", err, b.String())
	}
}

// TestProgress: only the person who started an export sees its progress.
func TestProgress(t *testing.T) {
	x := newExporter(t)
	now := noon
	x.Now = func() time.Time { now = now.Add(time.Second); return now }
	var seen []int64
	err := x.Run(t.Context(), writer(func([]byte) error {
		p := newest(t, x)
		seen = append(seen, p.Rows)
		if p.State != export.Running || p.About.Rows != 6 {
			t.Errorf("while it runs: %+v", p)
		}
		return nil
	}), export.Job{Table: table(3), Format: export.NDJSON, By: person, Nonce: "n", Check: anybody})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{0, 2, 4}, seen); diff != "" {
		t.Errorf("rows seen while it runs (-want +got)\n%s", diff)
	}
	if p := newest(t, x); p.State != export.Done || p.Rows != 6 {
		t.Errorf("%+v", p)
	}
	for _, other := range []audit.Actor{{Kind: audit.ByUser, ID: 8}, {Kind: audit.ByToken, ID: 7}, {Kind: audit.ByUser, ID: 7, ActingFor: 3}} {
		if list, err := x.Of(t.Context(), other, 9); len(list) > 0 || err != nil {
			t.Errorf("%+v sees %+v, %v", other, list, err)
		}
	}
	now = now.Add(export.Kept + time.Hour)
	if n, err := prune.Rows(t.Context(), x.DB, x.Now(), export.Expiring()); n != 1 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
}

// TestVersions: the version of a person changes when an export starts, progresses and ends.
func TestVersions(t *testing.T) {
	x := newExporter(t)
	now := noon
	x.Now = func() time.Time { now = now.Add(time.Second); return now }
	seen := map[string]bool{}
	look := func([]byte) error {
		v, err := x.Versions(t.Context(), []int64{person.ID, 8})
		seen[v[person.ID]] = true
		if v[8] != "none" {
			t.Errorf("of somebody else: %v", v)
		}
		return err
	}
	err := errors.Join(look(nil), x.Run(t.Context(), writer(look), export.Job{Table: table(3), By: person, Nonce: "n", Check: anybody}), look(nil))
	if err != nil || len(seen) != 5 {
		t.Errorf("%v, %v", seen, err)
	}
}

// TestLostExport: an export of a lost node counts as ended, and the newest is first.
func TestLostExport(t *testing.T) {
	x := newExporter(t)
	now := noon
	x.Now = func() time.Time { return now }
	gone := func() {
		defer func() { _ = recover() }()
		_ = x.Run(t.Context(), writer(func([]byte) error { panic("kill -9") }), export.Job{Table: table(1), By: person, Nonce: "a", Check: anybody})
	}
	gone()
	now = now.Add(time.Minute)
	if p := newest(t, x); p.State != export.Running {
		t.Errorf("after a minute: %+v", p)
	}
	if err := x.Run(t.Context(), io.Discard, export.Job{Table: table(1), Format: export.CSV, By: person, Nonce: "z", Check: anybody}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(2 * time.Minute)
	list, err := x.Of(t.Context(), person, 9)
	if err != nil || len(list) != 2 || list[0].State != export.Done || list[1].State != export.Ended {
		t.Errorf("%+v, %v", list, err)
	}
}

// writer makes an io.Writer from a function.
type writer func([]byte) error

func (f writer) Write(b []byte) (int, error) { return len(b), f(b) }

// TestClientThatLeaves: an export ends with the first write that fails.
func TestClientThatLeaves(t *testing.T) {
	x, gone, writes := newExporter(t), errors.New("gone"), 0
	err := x.Run(t.Context(), writer(func([]byte) error {
		if writes++; writes == 2 {
			return gone
		}
		return nil
	}), export.Job{Table: table(9), By: person, Nonce: "n", Check: anybody})
	if p := newest(t, x); !errors.Is(err, gone) || writes != 2 || p.State != export.Ended {
		t.Errorf("%v after %d writes; %+v", err, writes, p)
	}
}

// TestExportsAreBounded: a person has few exports at a time, and a stopping node ends them.
func TestExportsAreBounded(t *testing.T) {
	x := newExporter(t)
	x.PerActor = 1
	err := x.Run(t.Context(), writer(func([]byte) error {
		err := x.Run(t.Context(), io.Discard, export.Job{Table: table(1), By: person, Check: anybody})
		if !fault.Is(err, "too_many_exports") {
			t.Errorf("a second one: %v", err)
		}
		other := person
		other.ID++
		return x.Run(t.Context(), io.Discard, export.Job{Table: table(1), By: other, Check: anybody})
	}), export.Job{Table: table(1), By: person, Check: anybody})
	if err != nil {
		t.Fatal(err)
	}
	batches := 0
	err = x.Run(t.Context(), writer(func([]byte) error { batches++; x.Close(); return nil }), export.Job{Table: table(5), By: person, Check: anybody})
	if !fault.Is(err, "export_ended") || batches != 1 {
		t.Errorf("when the node stops: %v after %d batches", err, batches)
	}
}

// TestExportsAreAudited: each export has an audit entry, before its first row.
func TestExportsAreAudited(t *testing.T) {
	x := newExporter(t)
	for _, by := range []audit.Actor{person, {Kind: audit.ByUser, ID: 8, ActingFor: 1}} {
		list := table(1)
		list.PartnerID = 1
		if err := x.Run(t.Context(), io.Discard, export.Job{Table: list, Format: export.CSV, By: by, Check: anybody}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := sqldb.All(t.Context(), x.DB, sqldb.Value[string], `SELECT action || ' ' || subject || ' ' || after FROM audit_entries ORDER BY id`)
	want := []string{
		`export.begin export:licenses {"format":"csv","kind":"licenses","partner_id":1}`,
		`export.begin partner:1 {"format":"csv","kind":"licenses","partner_id":1}`,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// TestExportsStayWhereTheyBegan: a person's export for a partner is listed only there, not for
// another partner and not for the marketplace.
func TestExportsStayWhereTheyBegan(t *testing.T) {
	x := newExporter(t)
	for partnerID, batches := range []int{1, 2, 3} { // 0 is the marketplace
		by := audit.Actor{Kind: audit.ByUser, ID: 7, ActingFor: int64(partnerID)}
		if err := x.Run(t.Context(), io.Discard, export.Job{Table: table(batches), By: by, Nonce: fmt.Sprint(partnerID), Check: anybody}); err != nil {
			t.Fatal(err)
		}
	}
	for partnerID, rows := range []int64{2, 4, 6} {
		list, err := x.Of(t.Context(), audit.Actor{Kind: audit.ByUser, ID: 7, ActingFor: int64(partnerID)}, 9)
		if err != nil || len(list) != 1 || list[0].Rows != rows {
			t.Errorf("of partner %d: %+v, %v", partnerID, list, err)
		}
	}
}
