// Command mutate finds rules without a test: it changes one thing in a package's code, runs the
// package's tests, and reports unnoticed changes. It does not modify the tree: go test gets changed
// files as an overlay.
//
// One test binary contains all changes of a package. Each has a number, and an environment variable
// switches one of them on. Each test first runs alone, to find the changes it reaches; a change is
// then tried only with these tests, the fastest first. Changes that such a binary cannot contain,
// such as those of constants, get a separate binary.
//
// A line that ends in "// mutate: equivalent because …" is left alone.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

func main() {
	var (
		root   = flag.String("root", ".", "folder of the module")
		file   = flag.String("file", "", "change only this file of the package")
		at     = flag.String("at", "", "change only these lines, as file.go:12, separated by commas")
		sample = flag.Int("n", 0, "try so many, chosen at random; 0: all")
		seed   = flag.Uint64("seed", 1, "of that choice")
		run    = flag.String("run", "", "run only these tests")
		also   = flag.String("also", "", "more packages, separated by spaces; their tests try what the package's own do not notice")
		jobs   = flag.Int("j", 1, "how many run at once")
		list   = flag.Bool("list", false, "list the changes and run nothing")
	)
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: mutate [flags] internal/package")
		os.Exit(2)
	}
	c := choice{local(flag.Arg(0)), *file, *at, *sample, *seed}
	r := &runner{root: *root, run: *run, packages: []string{c.pkg}, jobs: max(*jobs, 1), log: os.Stderr}
	for _, more := range strings.Fields(*also) {
		r.packages = append(r.packages, local(more))
	}
	survived, err := mutate(r, c, *list, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if survived > 0 {
		os.Exit(1)
	}
}

// local returns go's name of a package for its folder in the module.
func local(folder string) string { return "./" + filepath.ToSlash(filepath.Clean(folder)) }

// choice selects the changes to try.
type choice struct {
	pkg, file, at string
	sample        int
	seed          uint64
}

func (c choice) of(p *code) []*mutation {
	all := p.mutations(c.file)
	if c.at != "" {
		lines := strings.Split(c.at, ",")
		all = slices.DeleteFunc(all, func(m *mutation) bool {
			return !slices.Contains(lines, fmt.Sprintf("%s:%d", filepath.Base(m.path), m.line))
		})
	}
	if c.sample > 0 && c.sample < len(all) {
		rand.New(rand.NewPCG(c.seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:c.sample]
	}
	return all
}

// mutate tries the chosen changes, writes the outcome of each, and counts the survivors.
func mutate(r *runner, c choice, list bool, out io.Writer) (survived int, err error) {
	p, err := parse(r.root, c.pkg)
	if err != nil {
		return 0, err
	}
	all := c.of(p)
	if list {
		for _, m := range all {
			fmt.Fprintln(out, m) //nolint:errcheck // the standard output
		}
		return 0, nil
	}
	if err := r.open(); err != nil {
		return 0, err
	}
	defer r.close()
	if err := p.check(); err != nil {
		return 0, err
	}
	if err := p.classify(all); err != nil {
		return 0, err
	}
	if err := r.prepare(p, all); err != nil {
		return 0, err
	}
	// A change with a separate binary takes as long as many others.
	slices.SortStableFunc(all, func(a, b *mutation) int { return cmp.Compare(a.state, b.state) })
	count := map[outcome]int{}
	var mu sync.Mutex
	each(r.jobs, all, func(m *mutation) {
		o, err := r.try(m)
		mu.Lock()
		defer mu.Unlock()
		if count[o]++; err != nil {
			fmt.Fprintf(r.log, "mutate: %s: %v\n", m, err) //nolint:errcheck // the standard error
		} else if o != uncompiled {
			fmt.Fprintf(out, "%-8s %s\n", o, m) //nolint:errcheck // the standard output
		}
	})
	if n := count[unknown]; n > 0 {
		return 0, fmt.Errorf("%d changes could not be tried", n)
	}
	//nolint:errcheck // the standard output
	fmt.Fprintf(out, "%s: %d changes, %d killed, %d SURVIVED (%d more do not compile)\n",
		c.pkg, count[killed]+count[alive], count[killed], count[alive], count[uncompiled])
	return count[alive], nil
}

// each calls f for all, with a number of concurrent calls.
func each[T any](jobs int, all []T, f func(T)) {
	next := make(chan T)
	var wg sync.WaitGroup
	for range jobs {
		wg.Go(func() {
			for one := range next {
				f(one)
			}
		})
	}
	for _, one := range all {
		next <- one
	}
	close(next)
	wg.Wait()
}
