// Command mutate finds rules that no test holds: it changes one thing in a package's
// code, runs the package's tests, and reports the changes that they do not notice. The
// tree stays as it is: go test is given the changed file as an overlay.
//
// A line that ends in "// mutate: equivalent because …" is left alone.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	var (
		root   = flag.String("root", ".", "folder of the module")
		file   = flag.String("file", "", "change only this file of the package")
		at     = flag.String("at", "", "change only these lines, as file.go:12, separated by commas")
		sample = flag.Int("n", 0, "try so many, chosen at random; 0: all")
		seed   = flag.Uint64("seed", 1, "of that choice")
		run    = flag.String("run", "", "run only these tests")
		also   = flag.String("also", "", "more packages whose tests are run, separated by spaces")
		jobs   = flag.Int("j", 1, "how many run at once")
		list   = flag.Bool("list", false, "list the changes and run nothing")
	)
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: mutate [flags] internal/package")
		os.Exit(2)
	}
	pkg := local(flag.Arg(0))
	packages := []string{pkg}
	for _, more := range strings.Fields(*also) {
		packages = append(packages, local(more))
	}
	survived, err := mutate(&runner{root: *root, run: *run, packages: packages}, choice{pkg, *file, *at, *sample, *seed}, *jobs, *list)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if survived > 0 {
		os.Exit(1)
	}
}

// local is how go names a package by its folder in the module.
func local(folder string) string { return "./" + filepath.ToSlash(filepath.Clean(folder)) }

// choice is which changes are tried.
type choice struct {
	pkg, file, at string
	sample        int
	seed          uint64
}

func (c choice) of(root string) ([]mutation, error) {
	all, err := find(filepath.Join(root, c.pkg), c.file)
	if err != nil {
		return nil, err
	}
	if c.at != "" {
		lines := strings.Split(c.at, ",")
		all = slices.DeleteFunc(all, func(m mutation) bool {
			return !slices.Contains(lines, fmt.Sprintf("%s:%d", filepath.Base(m.path), m.line))
		})
	}
	if c.sample > 0 && c.sample < len(all) {
		rand.New(rand.NewPCG(c.seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:c.sample]
	}
	return all, nil
}

func mutate(r *runner, c choice, jobs int, list bool) (survived int, err error) {
	all, err := c.of(r.root)
	if err != nil {
		return 0, err
	}
	if list {
		for _, m := range all {
			fmt.Println(m)
		}
		return 0, nil
	}
	if err := r.baseline(); err != nil {
		return 0, err
	}
	count := map[outcome]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan mutation)
	for range jobs {
		wg.Go(func() {
			for m := range next {
				o, err := r.try(m)
				mu.Lock()
				if count[o]++; err != nil {
					fmt.Fprintln(os.Stderr, "mutate:", err)
				} else if o != uncompiled {
					fmt.Printf("%-8s %s\n", o, m)
				}
				mu.Unlock()
			}
		})
	}
	for _, m := range all {
		next <- m
	}
	close(next)
	wg.Wait()
	fmt.Printf("%s: %d changes, %d killed, %d SURVIVED (%d more do not compile)\n",
		c.pkg, count[killed]+count[alive], count[killed], count[alive], count[uncompiled])
	return count[alive], nil
}

// find lists the changes of a package, or of one of its files.
func find(dir, only string) ([]mutation, error) {
	pkg, err := build.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var all []mutation
	for _, name := range pkg.GoFiles {
		if only != "" && name != filepath.Base(only) {
			continue
		}
		path, err := filepath.Abs(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		found, err := mutationsOf(path)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

type outcome string

const (
	killed     outcome = "killed"
	alive      outcome = "SURVIVED"
	uncompiled outcome = "uncompiled"
	unknown    outcome = "unknown"
)

// runner runs tests.
type runner struct {
	root     string
	run      string
	packages []string
	limit    time.Duration // of one run
}

// baseline checks that the tests pass as the code is, and sets the limit by their time.
func (r *runner) baseline() error {
	r.limit = 10 * time.Minute
	begun := time.Now()
	if out, err := r.test("{}"); err != nil {
		return fmt.Errorf("the tests fail without any change: %w\n%s", err, out)
	}
	r.limit = 3*time.Since(begun) + 10*time.Second
	return nil
}

// try runs the tests on a change.
func (r *runner) try(m mutation) (outcome, error) {
	text, err := m.apply()
	if err != nil {
		return unknown, err
	}
	changed, err := os.CreateTemp("", "mutate-*.go")
	if err != nil {
		return unknown, err
	}
	defer os.Remove(changed.Name()) //nolint:errcheck // the system clears its temporary folder too
	if _, err := changed.Write(text); err != nil {
		return unknown, err
	}
	if err := changed.Close(); err != nil {
		return unknown, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{m.path: changed.Name()}})
	if err != nil {
		return unknown, err
	}
	out, err := r.test(string(overlay))
	switch {
	case err == nil:
		return alive, nil
	case bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")):
		return uncompiled, nil
	}
	return killed, nil
}

// test runs go test with an overlay, and ends it when it takes too long.
func (r *runner) test(overlay string) ([]byte, error) {
	f, err := os.CreateTemp("", "mutate-*.json")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // the system clears its temporary folder too
	if _, err := f.WriteString(overlay); err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.limit+time.Minute)
	defer cancel()
	args := []string{"test", "-overlay=" + f.Name(), "-count=1", "-failfast", "-vet=off", "-timeout=" + r.limit.String(), "-run=" + r.run}
	cmd := exec.CommandContext(ctx, "go", append(args, r.packages...)...)
	cmd.Dir, cmd.WaitDelay = r.root, time.Minute
	return cmd.CombinedOutput()
}
