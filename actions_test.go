package claviger_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"claviger/internal/audit"
)

// action matches the name of an action in an audit entry.
var action = regexp.MustCompile(`^([a-z]+)\.[a-z_]+$`)

// literals calls f for each string of a file that looks like an action.
func literals(s source, f func(n *ast.BasicLit, name, kind string)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		if text, err := strconv.Unquote(lit.Value); err == nil {
			if m := action.FindStringSubmatch(text); m != nil {
				f(lit, text, m[1])
			}
		}
		return true
	})
}

// TestEveryActionHasASentence: every recorded action has a sentence. Actions are the strings that
// begin like one passed to audit.Record.
func TestEveryActionHasASentence(t *testing.T) {
	var list []source
	kinds := map[string]bool{"operator": true} // invitations to the team, with a composed action
	for _, s := range sources(t) {
		if s.test || s.name == "audit" {
			continue
		}
		list = append(list, s)
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 5 {
				return true
			}
			if name, ok := call.Fun.(*ast.SelectorExpr); !ok || name.Sel.Name != "Record" {
				return true
			}
			if lit, ok := call.Args[3].(*ast.BasicLit); ok {
				kind, _, _ := strings.Cut(strings.Trim(lit.Value, `"`), ".")
				kinds[kind] = true
			}
			return true
		})
	}
	found := 0
	check := func(s source, n ast.Node, name string) {
		found++
		if e := (audit.Entry{Action: name, Subject: "partner:1"}); e.Sentence(nil) == audit.NoSentence {
			t.Errorf("%s: audit.Entry.Sentence has nothing for %s", s.set.Position(n.Pos()), name)
		}
	}
	for _, s := range list {
		literals(s, func(n *ast.BasicLit, name, kind string) {
			if !kinds[kind] || notActions[name] {
				return
			}
			check(s, n, name)
			if strings.HasSuffix(name, ".invite") {
				check(s, n, name+"_withdraw")
			}
		})
	}
	if found < 80 {
		t.Errorf("only %d actions were found", found)
	}
}

// notActions are strings that look like actions.
var notActions = map[string]bool{
	"operator.md":    true,                                                // a guide
	"refund.created": true, "refund.updated": true, "refund.failed": true, // events of Stripe
}
