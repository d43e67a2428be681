// Command bench measures the service against yardsticks, in one run on one machine, and prints one
// table of ratios. README.md beside it explains the rows and has the results.
//
//	make bench                        everything, on both databases
//	go run ./bench -quick             a tenth of the data, for trying
//	go run ./bench -only lists        one case
//	go run ./bench -profile           CPU profiles of the server into bench/data
//	make bench-record                 everything, as the new baseline and the table of README.md
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
	"claviger/internal/app"
	"claviger/internal/sqldb"
)

// bench is one run.
type bench struct {
	data     string // folder of databases that are reused in later runs
	stores   []seed.Store
	licenses int64
	rounds   int
	length   time.Duration // of one side of a round
	profile  bool
	servers  []int // the PostgreSQL server; its processes are not our children
	rows     []figure.Row
	machine  string // description of the machine
}

// cases are the benchmarks, in order.
var cases = []struct {
	name string
	run  func(*bench, context.Context, seed.Store) error
}{
	{"lists", (*bench).lists},
	{"depth", (*bench).depths},
	{"pages", (*bench).pages},
	{"live", (*bench).live},
	{"search", (*bench).search},
	{"purchases", (*bench).purchases},
	{"payments", (*bench).payments},
	{"delivery", (*bench).delivery},
	{"outage", (*bench).outage},
	{"sustained", (*bench).sustained},
	{"launch", (*bench).launch},
	{"failing", (*bench).failing},
	{"oauth", (*bench).oauth},
	{"footprint", (*bench).footprint},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // deferred calls have already run
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == serviceRole {
		return serveRole(ctx, args[1:])
	}
	var b bench
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := flags.Bool("quick", false, "seed 100,000 licenses instead of 1,000,000 and take fewer rounds")
	licenses := flags.Int64("licenses", 0, "how many licenses to seed, a multiple of 10,000, in place of what is usual")
	only := flags.String("only", "", "cases to run, by commas: lists, depth, pages, live, search, purchases, "+
		"payments, delivery, outage, sustained, launch, failing, oauth, footprint")
	db := flags.String("db", bothDatabases, "databases to run on; PostgreSQL is the server of CLAVIGER_TEST_POSTGRES")
	flags.StringVar(&b.data, "data", filepath.Join("bench", "data"), "folder of what is kept from run to run")
	flags.BoolVar(&b.profile, "profile", false, "write CPU profiles of the server into the data folder")
	record := flags.String("record", "", "folder whose baseline.txt and table in README.md to replace; for a whole run")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *record != "" && (*quick || *licenses != 0 || *only != "" || *db != bothDatabases) {
		return errors.New("-record goes with a whole run, without -quick, -licenses, -only and -db")
	}
	if *licenses < 0 || *licenses%10_000 != 0 {
		return fmt.Errorf("-licenses is %d: it must be a multiple of 10,000", *licenses)
	}
	b.licenses, b.rounds, b.length = 1_000_000, 11, 2*time.Second
	if *quick {
		b.licenses, b.rounds, b.length = 100_000, 5, time.Second
	}
	b.licenses = cmp.Or(*licenses, b.licenses)
	app.SpendMemory() // as serve does: some cases run the service in this process
	if err := b.open(*db); err != nil {
		return err
	}
	b.describe(ctx)
	if err := b.all(ctx, *only); err != nil {
		return errors.Join(err, figure.Print(os.Stdout, b.rows))
	}
	return errors.Join(figure.Print(os.Stdout, b.rows), b.save(*record))
}

const bothDatabases = "sqlite,postgres"

// save writes the figures for benchstat, and for the record.
func (b *bench) save(record string) error {
	var lines strings.Builder
	if err := figure.Benchmarks(&lines, b.rows); err != nil {
		return err
	}
	latest := filepath.Join(b.data, "latest.txt")
	if err := os.WriteFile(latest, []byte(lines.String()), 0o644); err != nil { //nolint:gosec // nothing secret
		return fmt.Errorf("write the figures: %w", err)
	}
	say("the figures are in %s; compare them by make bench-compare", latest)
	if record == "" {
		return nil
	}
	page := filepath.Join(record, "README.md")
	text, err := os.ReadFile(page) //nolint:gosec // named by the user of the benchmark
	if err != nil {
		return fmt.Errorf("read the page of figures: %w", err)
	}
	made, err := figure.ReplaceTable(string(text), b.machine, b.rows)
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(page, []byte(made), 0o644), //nolint:gosec // nothing secret
		os.WriteFile(filepath.Join(record, "baseline.txt"), []byte(lines.String()), 0o644)) //nolint:gosec // no secrets
}

// open finds the databases.
func (b *bench) open(list string) error {
	if err := os.MkdirAll(b.data, 0o755); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	for _, name := range strings.Split(list, ",") {
		switch server := os.Getenv("CLAVIGER_TEST_POSTGRES"); {
		case name == "sqlite":
			b.stores = append(b.stores, seed.Store{Folder: b.data})
		case name == "postgres" && server != "":
			b.stores = append(b.stores, seed.Store{Server: server})
		case name == "postgres":
			say("no PostgreSQL: CLAVIGER_TEST_POSTGRES is not set (make bench sets it)")
		default:
			return fmt.Errorf("-db has %q, which is neither sqlite nor postgres", name)
		}
	}
	return nil
}

// all runs the selected cases.
func (b *bench) all(ctx context.Context, only string) error {
	names := strings.Split(only, ",")
	for _, c := range cases {
		if only != "" && !slices.Contains(names, c.name) {
			continue
		}
		for _, s := range b.stores {
			say("%s on %s", c.name, s.Name())
			if err := c.run(b, ctx, s); err != nil {
				return fmt.Errorf("%s on %s: %w", c.name, s.Name(), err)
			}
		}
	}
	return nil
}

// add adds a row and prints it immediately.
func (b *bench) add(r figure.Row) {
	b.rows = append(b.rows, r)
	say("  %s: %s against %s = %s (goal %s; %.0f %% noise)", r.Case, r.Ours, r.Yardstick, strings.ReplaceAll(r.Shown,
		"*", ""), r.Goal, 100*r.Noise)
}

// say reports progress on standard error; standard output has the table.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s "+format+"\n", append([]any{time.Now().Format(time.TimeOnly)}, args...)...)
}

// describe prints the machine and the versions.
func (b *bench) describe(ctx context.Context) {
	b.machine = fmt.Sprintf("%s, %d cores, %s", runtime.Version(), runtime.NumCPU(),
		time.Now().UTC().Format(time.DateOnly))
	for _, s := range b.stores {
		if s.Server == "" {
			continue
		}
		if err := b.describeServer(ctx, s.Server); err != nil {
			say("PostgreSQL: %v", err)
		}
	}
	fmt.Print(b.machine + "\n\n")
}

func (b *bench) describeServer(ctx context.Context, url string) error {
	db, err := sqldb.Open(ctx, url, sqldb.Options{Readers: 1})
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // nothing was written
	pid, err := sqldb.One(ctx, db, sqldb.Value[int64], `SELECT pg_backend_pid()`)
	if err != nil {
		return err
	}
	b.servers = append(b.servers, meter.Parent(int(pid)))
	setting := func(name string) string {
		v, err := sqldb.One(ctx, db, sqldb.Value[string], `SELECT current_setting($1)`, name)
		if err != nil {
			return "unknown"
		}
		return v
	}
	b.machine += fmt.Sprintf(",\nPostgreSQL %s (fsync %s, synchronous_commit %s, shared_buffers %s)",
		strings.Fields(setting("server_version"))[0], setting("fsync"), setting("synchronous_commit"),
		setting("shared_buffers"))
	if setting("fsync") != "on" {
		say("fsync is off: what PostgreSQL acknowledges here is not on disk; start it by script/with-postgres with " +
			"CLAVIGER_PG_DURABLE=1")
	}
	return nil
}

// perSecond is the unit of rates, micros of times.
var (
	perSecond = figure.Unit{Name: "op/s", Show: func(v float64) string { return thousands(v) + "/s" }}
	micros    = figure.Unit{Name: "us/op", Show: func(v float64) string { return thousands(v) + " µs" }}
)

func thousands(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
