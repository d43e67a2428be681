package dbcopy_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"claviger/internal/sqldb/dbcopy"
	"claviger/internal/sqldb/sqldbtest"
)

// TestKilledCopyGoesOn: after a process is killed in the middle, the next one finishes the copy.
func TestKilledCopyGoesOn(t *testing.T) {
	from, to := file(t, "from.db"), sqldbtest.Empty(t)
	filled(t, from, 20)
	child := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this program
	child.Env = append(os.Environ(), copyChild+"="+from+" "+to)
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "in the middle\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	if got := marked(t, from); !strings.HasPrefix(got, "it is being copied") {
		t.Errorf("the mark of the source is %q", got)
	}
	if done := mustCopy(t, copying(from, to)); !done.Resumed {
		t.Error("it began again")
	}
	if got := marked(t, to); got != "" {
		t.Errorf("the mark of the copy is %q", got)
	}
}

// copyChild is the environment variable that makes this program a child that copies and stops in
// the middle.
const copyChild = "CLAVIGER_COPY_CHILD"

func TestMain(m *testing.M) {
	if from, to, ok := strings.Cut(os.Getenv(copyChild), " "); ok {
		c := copying(from, to)
		steps := 0
		c.Tell = func(dbcopy.Progress) {
			if steps++; steps == 90 {
				fmt.Println("in the middle")
				select {}
			}
		}
		_, err := dbcopy.Run(context.Background(), c)
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// BenchmarkCopy moves and compares the tables that a marketplace fills: from SQLite to the database
// of the tests and back.
func BenchmarkCopy(b *testing.B) {
	const rows = 100_000
	for b.Loop() {
		b.StopTimer()
		full, there, back := file(b, "full.db"), sqldbtest.Empty(b), file(b, "back.db")
		filled(b, full, rows, "licenses", "events", "deliveries", "webhook_responses", "purchases", "purchase_links", "audit_entries")
		b.StartTimer()
		for _, way := range []struct{ name, from, to string }{{"there", full, there}, {"back", there, back}} {
			begun, n := time.Now(), int64(0)
			done, err := dbcopy.Run(b.Context(), dbcopy.Spec{From: way.from, To: way.to, Skip: []string{"nodes", "shards"}, Now: begun})
			if err != nil {
				b.Fatal(err)
			}
			for _, t := range done.Tables {
				n += t.Rows
			}
			b.ReportMetric(float64(n)/time.Since(begun).Seconds(), way.name+"-rows/s")
		}
	}
}
