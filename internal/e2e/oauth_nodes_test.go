package e2e_test

import (
	"encoding/json"
	"net/http"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"claviger/internal/app"
	"claviger/internal/apptest"
	"claviger/internal/devserver"
	"claviger/internal/sqldb/sqldbtest"
)

// crowd is the number of simultaneous requests, half of them to each node.
const crowd = 50

// TestConnectionOnTwoNodes: buyers, codes, tokens and keys are the same on all nodes of one
// database, also with simultaneous requests.
func TestConnectionOnTwoNodes(t *testing.T) {
	if !sqldbtest.Postgres() {
		t.Skip("an SQLite file has one node")
	}
	t.Parallel()
	db := sqldbtest.URL(t)
	first := newApplication(t, devNode(t, func(c *devserver.Config) { c.App.DB, c.App.SecretKey = db, apptest.SecretKey }))
	node := func() *application {
		h := start(t, func(c *app.Config) { c.DB, c.PublicURL, c.AllowPrivateTargets = db, first.card.BaseURL, true })
		return first.at("http://" + h.Addr())
	}
	second := node()
	nodes := []*application{first, second}
	license := first.sells("order-1")

	v := first.visitor()
	first.code(v.connects(first.start(), first.redirect))
	code := first.code(v.connects(second.card.BaseURL+"/openid/authorize?"+first.request().Encode(), first.redirect))
	if len(v.steps) > 0 {
		t.Errorf("who came in at one node was asked to %q at the other", v.steps)
	}

	held := oneServes(t, nodes, code, license)
	held = allAlike(t, nodes, held, license)

	before := second.keys()
	kid := rotateNow(t, db)
	if len(before.Key(kid)) != 1 {
		t.Errorf("the key %s signs, and was not published at the other node before", kid)
	}
	third := node() // it has the new key immediately, the others within a minute
	held = third.gets(third.refreshOf(held.Refresh))
	if _, by := second.identity(held.ID, before); by != kid {
		t.Errorf("the new node signs with %s, want %s", by, kid)
	}
	for _, signer := range nodes {
		held = signer.gets(signer.refreshOf(held.Refresh))
		for _, reader := range append(nodes, third) {
			reader.identity(held.ID, reader.keys())
		}
	}
}

// oneServes exchanges one code many times simultaneously: one exchange succeeds, and its tokens
// work on every node.
func oneServes(t *testing.T, nodes []*application, code, license string) tokens {
	t.Helper()
	var won []tokens
	for _, got := range atOnce(t, nodes, func(a *application) (answer, error) {
		return a.call("POST", "/openid/token/", a.exchangeOf(code))
	}) {
		if got.status == http.StatusOK {
			won = append(won, nodes[0].given(got))
		} else {
			nodes[0].denied(got, 400, "invalid_grant")
		}
	}
	if len(won) != 1 {
		t.Fatalf("%d exchanges of one code succeeded", len(won))
	}
	for _, a := range nodes {
		if opened, status := a.opens(won[0].Access); opened != license {
			t.Errorf("a node opens %q (%d) for the token", opened, status)
		}
	}
	return won[0]
}

// allAlike refreshes one token many times simultaneously: all get the same answer.
func allAlike(t *testing.T, nodes []*application, held tokens, license string) tokens {
	t.Helper()
	answers := atOnce(t, nodes, func(a *application) (answer, error) {
		return a.call("POST", "/openid/token/", a.refreshOf(held.Refresh))
	})
	for _, got := range answers {
		if got.status != http.StatusOK || string(got.body) != string(answers[0].body) {
			t.Fatalf("answered %d %s, another %d %s", got.status, got.body, answers[0].status, answers[0].body)
		}
	}
	next := nodes[0].given(answers[0])
	for _, a := range nodes {
		if opened, status := a.opens(next.Access); opened != license {
			t.Errorf("a node opens %q (%d) for the refreshed token", opened, status)
		}
	}
	return next
}

// atOnce sends a request many times simultaneously, to the nodes in turn.
func atOnce(t *testing.T, nodes []*application, send func(*application) (answer, error)) []answer {
	t.Helper()
	answers := make([]answer, crowd)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() {
			<-begin
			var err error
			if answers[i], err = send(nodes[i%len(nodes)]); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	all.Wait()
	return answers
}

// rotateNow rotates the keys with the command and returns the active one.
func rotateNow(t *testing.T, db string) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	rotate := exec.CommandContext(t.Context(), path, "keys", "rotate", "--now", "--json", "--alg", "RS256", "--db", db)
	rotate.Dir, rotate.Env = t.TempDir(), []string{"CLAVIGER_SECRET_KEY=" + apptest.SecretKey}
	out, err := rotate.Output()
	if err != nil {
		t.Fatalf("rotate the keys: %v", err)
	}
	var list []struct {
		ID    string `json:"kid"`
		Alg   string `json:"alg"`
		State string `json:"state"`
	}
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, k := range slices.Backward(list) {
		if k.Alg == string(jose.RS256) && k.State == "active" {
			return k.ID
		}
	}
	t.Fatalf("no key is active: %s", out)
	return ""
}
