package wiretest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the answers in the conversations under testdata")

// DefaultHeaders are the answer headers that a conversation shows if present, in this order.
var DefaultHeaders = []string{
	"Content-Type", "Location", "Allow", "Link", "X-Total-Count", "WWW-Authenticate", "Retry-After",
}

// Stage is the setting of a conversation.
type Stage struct {
	Client  *http.Client      // nil: one that follows no redirects
	URL     string            // base of the paths in the file
	Vars    map[string]string // values of {{name}}
	Headers []string          // headers to show in addition to DefaultHeaders
	Hide    map[string]string // more placeholders: name to regular expression
}

// Run plays each conversation that matches glob as a subtest, each on its own stage from open.
func Run(t *testing.T, glob string, open func(t *testing.T) Stage) {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations match %s (%v)", glob, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			played := newPlay(t, open(t)).run(ar)
			if *update {
				if err := os.WriteFile(file, txtar.Format(played), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// play is a running conversation.
type play struct {
	t     *testing.T
	stage Stage
	kept  map[string]string // values stored from answers
	veil  *veil
	last  *http.Response
	body  []byte // of last
}

func newPlay(t *testing.T, stage Stage) *play {
	t.Helper()
	if stage.Client == nil {
		stage.Client = &http.Client{
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	v, err := newVeil(stage)
	if err != nil {
		t.Fatal(err)
	}
	return &play{t: t, stage: stage, kept: make(map[string]string), veil: v}
}

// run plays the sections in order and returns the conversation with the actual answers.
func (p *play) run(ar *txtar.Archive) *txtar.Archive {
	p.t.Helper()
	out := &txtar.Archive{Comment: ar.Comment}
	for i, f := range ar.Files {
		kind, _, _ := strings.Cut(f.Name, ":")
		switch kind {
		case "request":
			out.Files = append(out.Files, f)
			p.send(f)
			var want []byte
			if i+1 < len(ar.Files) && ar.Files[i+1].Name == "answer" {
				want = ar.Files[i+1].Data
			}
			got := p.answer()
			out.Files = append(out.Files, txtar.File{Name: "answer", Data: got})
			if d := cmp.Diff(string(want), string(got)); d != "" && !*update {
				p.t.Errorf(
					"%s: another answer than the file has; if it is right, run the test with -update (-want +got):\n%s",
					f.Name,
					d,
				)
			}
		case "answer":
			if i == 0 || !strings.HasPrefix(ar.Files[i-1].Name, "request") {
				p.t.Fatalf("section %d: an answer without a request before it", i+1)
			}
		case "keep":
			out.Files = append(out.Files, f)
			p.keep(string(f.Data))
		default:
			p.t.Fatalf("a section is named %q, not request, answer or keep", f.Name)
		}
	}
	return out
}

// send sends the request of a section.
func (p *play) send(f txtar.File) {
	p.t.Helper()
	head, body, _ := strings.Cut(string(f.Data), "\n\n")
	body = strings.TrimSuffix(p.fill(body), "\n")
	if text, ok := strings.CutPrefix(body, "quoted "); ok {
		var err error
		if body, err = strconv.Unquote(strings.TrimSpace(text)); err != nil {
			p.t.Fatalf("%s: the quoted body is no Go string: %v", f.Name, err)
		}
	}
	lines := strings.Split(strings.TrimSpace(p.fill(head)), "\n")
	method, path, ok := strings.Cut(lines[0], " ")
	if !ok {
		p.t.Fatalf("%s: the first line must be a method and a path", f.Name)
	}
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.stage.URL+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatalf("%s: %v", f.Name, err)
	}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			p.t.Fatalf("%s: the header line %q has no colon", f.Name, line)
		}
		r.Header.Add(name, strings.TrimSpace(value))
	}
	if p.last, err = p.stage.Client.Do(r); err != nil {
		p.t.Fatalf("%s: %v", f.Name, err)
	}
	defer func() { _ = p.last.Body.Close() }()
	if p.body, err = io.ReadAll(p.last.Body); err != nil {
		p.t.Fatalf("%s: read the answer: %v", f.Name, err)
	}
}

// fill replaces {{name}} by values.
func (p *play) fill(text string) string {
	p.t.Helper()
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, closed := strings.Cut(rest, "}}")
		value, known := p.kept[name]
		if !known {
			value, known = p.stage.Vars[name]
		}
		if !closed || !known {
			p.t.Fatalf("{{%s}} stands for nothing", name)
		}
		b.WriteString(value)
		text = after
	}
}

// answer formats the last answer for the file.
func (p *play) answer() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, p.last.StatusCode)
	for _, name := range slices.Concat(DefaultHeaders, p.stage.Headers) {
		for _, value := range p.last.Header.Values(name) {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	if len(p.body) > 0 {
		b.WriteByte('\n')
		switch {
		case json.Valid(p.body):
			_ = json.Indent(&b, p.body, "", "  ")
		case utf8.Valid(p.body):
			b.Write(p.body)
		default:
			b.WriteString("quoted " + strconv.Quote(string(p.body)))
		}
		if b.Bytes()[b.Len()-1] != '\n' {
			b.WriteByte('\n')
		}
	}
	return []byte(p.veil.hide(b.String()))
}

// keep stores values of the last answer.
func (p *play) keep(text string) {
	p.t.Helper()
	if p.last == nil {
		p.t.Fatal("keep: there is no answer yet")
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, path, ok := strings.Cut(line, "=")
		if !ok {
			p.t.Fatalf("keep: the line %q is not name = path", line)
		}
		value, err := p.pick(strings.TrimSpace(path))
		if err != nil {
			p.t.Fatalf("keep %s: %v", line, err)
		}
		p.kept[strings.TrimSpace(name)] = value
	}
}

// pick finds a header or a member of the last answer.
func (p *play) pick(path string) (string, error) {
	if header, ok := strings.CutPrefix(path, "header "); ok {
		if v := p.last.Header.Get(strings.TrimSpace(header)); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("the answer has no header %s", header)
	}
	raw := json.RawMessage(p.body)
	for name := range strings.SplitSeq(path, ".") {
		next, err := member(raw, name)
		if err != nil {
			return "", err
		}
		raw = next
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	return string(raw), nil
}

// member takes one step into a JSON value: by name, or by index into an array.
func member(raw json.RawMessage, name string) (json.RawMessage, error) {
	if i, err := strconv.Atoi(name); err == nil {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil || i < 0 || i >= len(list) {
			return nil, fmt.Errorf("there is no element %d in %s", i, raw)
		}
		return list[i], nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object[name] == nil {
		return nil, fmt.Errorf("there is no member %s in %s", name, raw)
	}
	return object[name], nil
}
