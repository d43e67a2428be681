package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// suite has the tests of one package, built with all changes.
type suite struct {
	runner *runner
	pkg    string

	dir    string
	opened bool
	broken error
	binary string  // empty: the package has no tests
	tests  []*test // the fastest first

	mu      sync.Mutex
	noticed map[string][]string // tests that noticed a change, by file, last one first; guarded by mu
}

// test is a test function of a suite, with all its subtests.
type test struct {
	name    string
	took    time.Duration
	reaches map[int]bool // numbers of changes
	broken  error
}

// open builds the suite's binary and runs each test alone, to find the changes it reaches. It does
// so once.
func (s *suite) open() error {
	s.runner.opening.Lock()
	defer s.runner.opening.Unlock()
	if !s.opened {
		s.broken = s.learn()
		s.opened = true
	}
	return s.broken
}

func (s *suite) learn() error {
	r := s.runner
	s.dir = filepath.Join(r.root, s.pkg)
	binary, err := r.build(s.pkg, r.overlay)
	if err != nil {
		return err
	}
	if _, err := os.Stat(binary); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s.binary = binary
	first, _ := s.split()
	out, err := r.execute(s.dir, s.binary, nil, time.Minute, "-test.list="+cmp.Or(first, "."))
	if err != nil {
		return fmt.Errorf("list the tests of %s: %w\n%s", s.pkg, err, out)
	}
	for line := range strings.Lines(string(out)) {
		if name := strings.TrimSpace(line); isTest.MatchString(name) {
			s.tests = append(s.tests, &test{name: name})
		}
	}
	each(r.jobs, s.tests, func(t *test) { t.broken = s.record(t) })
	for _, t := range s.tests {
		if t.broken != nil {
			return t.broken
		}
	}
	slices.SortFunc(s.tests, func(a, b *test) int { return cmp.Compare(a.took, b.took) })
	return nil
}

// isTest matches names of tests, not benchmarks or the tests' own output.
var isTest = regexp.MustCompile(`^(Test|Fuzz|Example)\w*$`)

// split divides the flag -run into the parts for tests and subtests.
func (s *suite) split() (tests, subtests string) {
	tests, subtests, found := strings.Cut(s.runner.run, "/")
	if found {
		subtests = "/" + subtests
	}
	return tests, subtests
}

// record runs one test alone, without changes.
func (s *suite) record(t *test) error {
	file, err := os.CreateTemp(s.runner.dir, "reach-")
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	begun := time.Now()
	out, err := s.execute(s.binary, []*test{t}, 10*time.Minute, recordVariable+"="+file.Name())
	if err != nil {
		return fmt.Errorf("%s of %s fails without any change: %w\n%s", t.name, s.pkg, err, out)
	}
	t.took = time.Since(begun)
	text, err := os.ReadFile(file.Name())
	if err != nil {
		return err
	}
	t.reaches = map[int]bool{}
	for number := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		t.reaches[n] = true
	}
	return nil
}

// execute runs some of the tests.
func (s *suite) execute(binary string, tests []*test, limit time.Duration, env ...string) ([]byte, error) {
	names := make([]string, len(tests))
	for i, t := range tests {
		names[i] = t.name
	}
	_, subtests := s.split()
	return s.runner.execute(s.dir, binary, env, limit+10*time.Second, "-test.paniconexit0", "-test.failfast",
		"-test.timeout="+limit.String(), "-test.run=^("+strings.Join(names, "|")+")$"+subtests)
}

// notices reports whether a test fails with a change. If the suite's binary does not contain the
// change, it builds another one and runs all tests.
func (s *suite) notices(m *mutation, overlay string) (bool, error) {
	if s.binary == "" {
		return false, nil
	}
	binary, tests := s.binary, s.tests
	if m.state == single {
		var err error
		if binary, err = s.runner.build(s.pkg, overlay); err != nil {
			return false, err
		}
	} else {
		tests = slices.DeleteFunc(slices.Clone(tests), func(t *test) bool { return !t.reaches[m.number] })
	}
	for _, g := range groups(tests, s.likely(m.path)) {
		var took time.Duration
		for _, t := range g {
			took += t.took
		}
		out, err := s.execute(binary, g, 3*took+10*time.Second, switchVariable+"="+strconv.Itoa(m.number))
		if err != nil {
			s.note(m.path, out)
			return true, nil
		}
	}
	return false, nil
}

// failure matches the name of a failed or timed-out test in the output.
var failure = regexp.MustCompile(`(?m)^(?:--- FAIL: |\t+)(\w+)[ /].*\(.*s\)$`)

// note records which test noticed a change of a file.
func (s *suite) note(path string, out []byte) {
	found := failure.FindSubmatch(out)
	if found == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noticed == nil {
		s.noticed = map[string][]string{}
	}
	name := string(found[1])
	others := slices.DeleteFunc(slices.Clone(s.noticed[path]), func(other string) bool { return other == name })
	s.noticed[path] = append([]string{name}, others...)
}

// likely returns the tests that noticed changes of a file, last one first.
func (s *suite) likely(path string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noticed[path]
}

// groups divides tests among processes. The first group has the test that is likely to notice the
// change. Then come the fastest, and each group takes twice as long as the one before: most changes
// are noticed early, and few processes start.
func groups(tests []*test, likely []string) [][]*test {
	var all [][]*test
	for _, name := range likely {
		if i := slices.IndexFunc(tests, func(t *test) bool { return t.name == name }); i >= 0 {
			all = append(all, tests[i:i+1])
			tests = slices.Concat(tests[:i], tests[i+1:])
			break
		}
	}
	var took, limit time.Duration
	for _, t := range tests {
		if limit == 0 || took+t.took > limit {
			all = append(all, nil)
			took = 0
			limit = max(2*limit, time.Second)
		}
		all[len(all)-1] = append(all[len(all)-1], t)
		took += t.took
	}
	return all
}
