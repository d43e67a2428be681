// Command attack attacks a claviger program like a hostile client, and prints the effect on an
// honest one. It runs any build of the program, to compare two of them:
//
//	go run ./bench/attack                         this source, every attack, on SQLite
//	go run ./bench/attack -only memory,readers    some of them
//	go run ./bench/attack -program bin/claviger   another build
//	go run ./bench/attack -db postgres://…        an empty PostgreSQL database for each run
//
// README.md in the folder above has the results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
)

// attack is one attack on the service.
type attack struct {
	name string
	run  func(context.Context, *lab) error
}

var attacks = []attack{
	{"files", files},
	{"memory", memory},
	{"readers", readers},
	{"keys", keys},
	{"passwords", passwords},
}

// lab has the shared state of the attacks.
type lab struct {
	program string
	db      string // "": a file in folder
	folder  string
	figures []figure
}

// figure is a line of the result.
type figure struct{ what, value, goal string }

func (l *lab) add(what, goal, format string, args ...any) {
	f := figure{what, fmt.Sprintf(format, args...), goal}
	l.figures = append(l.figures, f)
	fmt.Fprintf(os.Stderr, "%s: %s (goal: %s)\n", f.what, f.value, f.goal)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "attack:", err)
		stop()
		os.Exit(1) //nolint:gocritic // deferred calls have already run
	}
}

func run(ctx context.Context, args []string) error {
	var l lab
	flags := flag.NewFlagSet("attack", flag.ContinueOnError)
	only := flags.String("only", "", "attacks to run, by commas: "+names())
	flags.StringVar(&l.program, "program", "", "the claviger program to attack; without it, one built from this source")
	flags.StringVar(&l.db, "db", "",
		"an empty PostgreSQL database; without it, a temporary SQLite file for each attack")
	if err := flags.Parse(args); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "claviger-attack-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	l.folder = folder
	if l.program == "" {
		if l.program, err = build(ctx, folder); err != nil {
			return err
		}
	}
	for _, a := range attacks {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), a.name) {
			continue
		}
		if err := a.run(ctx, &l); err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
	}
	return l.print()
}

func names() string {
	var list []string
	for _, a := range attacks {
		list = append(list, a.name)
	}
	return strings.Join(list, ", ")
}

// build builds the program as released.
func build(ctx context.Context, folder string) (string, error) {
	path := filepath.Join(folder, "claviger")
	//nolint:gosec // the path is ours
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", path, "claviger/cmd/claviger")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return path, nil
}

func (l *lab) print() error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, f := range l.figures {
		_, _ = fmt.Fprintf(w, "%s\t%s\tgoal: %s\n", f.what, f.value, f.goal)
	}
	return w.Flush()
}
