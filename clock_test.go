package claviger_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// machineClock lists the files that may read the machine's clock, by reason. All others use the
// service's clock, a field Now: expiries, schedules and stored times follow it, and claviger dev
// can move it.
var machineClock = map[string][]string{
	"it is the service's clock": {"internal/app/open.go"},
	"how long something took": {
		"cmd/claviger/copy.go", "cmd/claviger/wait.go", "internal/account/request.go", "internal/accounting/check.go", "internal/accounting/job.go", "internal/app/contract.go",
		"internal/app/delivery.go",
		"internal/area/turns.go", "internal/backups/job.go", "internal/batch/batch.go", "internal/courier/client.go", "internal/courier/timing.go", "internal/dispatch/poll.go",
		"internal/job/job.go", "internal/mail/sender.go", "internal/outage/watch.go", "internal/payment/job.go", "internal/prune/job.go", "internal/revenue/count.go", "internal/statement/job.go", "internal/stats/count.go",
		"internal/webhook/queue/counter.go",
	},
	"deadlines of connections, and how long one was idle": {
		"internal/courier/conn.go", "internal/courier/connpool.go", "internal/courier/proxy.go", "internal/httpd/request.go",
		"internal/sqldb/listen.go", "internal/sqldb/postgres.go", "internal/sqldb/postgres_health.go",
		"internal/sqldb/postgres_open.go", "internal/ui/stream.go", "internal/wire/file.go",
	},
	"checks of the database share a result for a second":                      {"internal/sqldb/writes.go"},
	"waits within a process, of milliseconds to minutes":                      {"internal/dispatch/hint.go", "internal/dispatch/lane.go", "internal/dispatch/recorder.go"},
	"beats and takeovers run in real time":                                    {"internal/app/guard.go", "internal/cluster/cluster.go", "internal/cluster/list.go"},
	"it compares the machine's clock with the database's":                     {"internal/app/examine.go", "internal/cluster/clock.go"},
	"when a file of migrations was applied; no rule reads it":                 {"internal/sqldb/migrate.go", "internal/sqldb/migrate_postgres.go"},
	"only how a time is written: near ones without their day":                 {"internal/ui/sentence.go"},
	"the default of a field Now":                                              {"internal/payment/fakestripe/fakestripe.go", "internal/wire/limit.go"},
	"the time of a line on a terminal":                                        {"cmd/claviger/listen.go"},
	"a browser has the machine's time, and so has the default of a field Now": {"internal/ui/session.go"},
	"Stripe signs with the real time":                                         {"internal/payment/event.go"},
}

// TestOneClock keeps time.Now, time.Since and time.Until out of all other files.
func TestOneClock(t *testing.T) {
	unused := map[string]bool{}
	for why, files := range machineClock {
		for _, file := range files {
			if unused[file] {
				t.Errorf("%s is listed twice, also under %q", file, why)
			}
			unused[file] = true
		}
	}
	allowed := len(unused)
	for _, s := range sources(t) {
		if s.test || s.name == "bench" || strings.HasPrefix(s.path, "sdk/samples/") {
			continue // a sample is a partner's program
		}
		uses := clockUses(s)
		_, listed := unused[s.path]
		delete(unused, s.path)
		switch {
		case len(uses) > 0 && !listed:
			t.Errorf("%s read the machine's clock; use the service's, a field Now", strings.Join(uses, ", "))
		case len(uses) == 0 && listed:
			t.Errorf("%s is listed and does not read the machine's clock", s.path)
		}
	}
	for file := range unused {
		t.Errorf("%s is listed and does not exist", file)
	}
	if allowed < 10 {
		t.Errorf("%d files are listed; is the test blind?", allowed)
	}
}

// clockUses lists the places where a file reads the machine's clock.
func clockUses(s source) []string {
	var list []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		e, ok := n.(*ast.SelectorExpr)
		if ok && isName(e.X, "time") && slices.Contains([]string{"Now", "Since", "Until"}, e.Sel.Name) {
			list = append(list, s.set.Position(e.Pos()).String())
		}
		return true
	})
	return list
}
