package merge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/license"
	"claviger/internal/merge"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// killChild is an environment variable for a child: this program, which joins two people and kills
// itself before a statement.
const killChild = "CLAVIGER_MERGE_CHILD"

// mortal is the task of a child.
type mortal struct {
	DB         string
	Statement  int64 // the child dies before it; with fewer statements it survives
	Link       string
	From, Into int64 // without a link
}

func TestMain(m *testing.M) {
	if text := os.Getenv(killChild); text != "" {
		if err := join(context.Background(), text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func join(ctx context.Context, text string) error {
	var m mortal
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return err
	}
	var statements atomic.Int64
	db, err := sqldb.Open(ctx, m.DB, sqldb.Options{Cut: func(string) error {
		if statements.Add(1) == m.Statement {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {}
		}
		return nil
	}})
	if err != nil {
		return err
	}
	now := func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
	s := &merge.Store{DB: db, Now: now, Accounts: &account.Store{DB: db, Now: now}}
	if m.Link != "" {
		_, err = s.UseLink(ctx, m.Link, "", "")
	} else {
		_, err = s.People(ctx, apptest.Tester, m.From, m.Into)
	}
	return errors.Join(err, db.Close())
}

// dies runs a child and reports whether it was killed.
func dies(h *apptest.Harness, m mortal) bool {
	h.Helper()
	m.DB = h.Database
	text, err := json.Marshal(m)
	h.Must(err)
	child := exec.CommandContext(h.Context(), os.Args[0]) //nolint:gosec // this program
	child.Env = append(os.Environ(), killChild+"="+string(text))
	out, err := child.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signal() == syscall.SIGKILL {
			return true
		}
	}
	if err != nil {
		h.Fatalf("a child ended: %v\n%s", err, out)
	}
	return false
}

// owned counts what a user has: licenses, purchases, orders.
func owned(h *apptest.Harness, userID int64) [3]int64 {
	h.Helper()
	return [3]int64{
		h.Count(`SELECT count(*) FROM licenses WHERE owner_id = $1`, userID),
		h.Count(`SELECT count(*) FROM purchases WHERE user_id = $1`, userID),
		h.Count(`SELECT count(*) FROM checkouts WHERE user_id = $1`, userID),
	}
}

var link = regexp.MustCompile(`[A-Za-z0-9_-]{40,}`)

// buyer makes a buyer, or a guest with an address, who bought a license and activated it.
func buyer(h *apptest.Harness, p partner.Partner, email, guest string) (int64, license.License) {
	h.Helper()
	ctx := h.Context()
	var u account.User
	var err error
	if guest == "" {
		u = h.User(email)
	} else {
		u, err = h.Accounts.StartGuest(ctx, account.GuestOrder{
			Email: guest, Browser: "browser", PartnerID: p.ID, Tier: 1,
		})
		h.Must(err)
	}
	sale, err := h.Payments.SellFree(ctx, apptest.Tester, payment.Order{
		PartnerID: p.ID, Partner: p.Name, Tier: 1, PlanName: "Tier 1", Currency: "USD",
	}, license.Purchase{PartnerID: p.ID, Tier: 1, BuyerID: u.ID, Quantity: 1, Currency: "USD", Shop: true})
	h.Must(err)
	orders, err := h.Payments.OfPurchases(ctx, []int64{sale.ID})
	h.Must(err)
	h.Must(h.Payments.TellGuest(ctx, orders[0]))
	l, err := h.Licenses.Activate(ctx, apptest.Tester, sale.Licenses[0].Key, nil)
	h.Must(err)
	return u.ID, l
}

// TestKilled: a process is killed before each statement that joins two people. Everything belongs to
// one of them or to the other, and the next try finishes the work without releasing a license.
func TestKilled(t *testing.T) {
	for name, guest := range map[string]bool{"two buyers": false, "a guest who proves the address": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := apptest.New(t)
			h.Accounts.Mail.Off = nil // there is no mail server, and the test reads the queue
			p, _ := h.Partner("Tide Planner", profile.URLs{})
			h.Plans(p.ID, 1, partner.Plan{Currency: "USD"})
			all, none := [3]int64{1, 1, 1}, [3]int64{}
			for n, killed := int64(1), true; killed; n++ {
				email := fmt.Sprintf("ann%d@example.com", n)
				into := h.User(email)
				m := mortal{Statement: n, Into: into.ID}
				guestOf := ""
				if guest {
					guestOf = email
				}
				var l license.License
				m.From, l = buyer(h, p, fmt.Sprint("old-", email), guestOf)
				if guest {
					m.Link = link.FindString(h.Mails(email)[0].Text)
				}
				killed = dies(h, m)
				from, now := owned(h, m.From), owned(h, m.Into)
				switch {
				case from == none && now == all:
				case killed && from == all && now == none:
					m.Statement = 0
					dies(h, m)
				default:
					t.Fatalf("killed at statement %d: from has %v, into %v", n, from, now)
				}
				if from, now = owned(h, m.From), owned(h, m.Into); from != none || now != all {
					t.Errorf("killed at statement %d: in the end from has %v, into %v", n, from, now)
				}
				after, err := h.Licenses.ByKey(t.Context(), l.Key)
				if h.Must(err); after.Released || after.Epoch != l.Epoch {
					t.Errorf("killed at statement %d: the license is %+v", n, after)
				}
				if tomb, err := h.Accounts.Get(t.Context(), m.From); err != nil || tomb.MergedInto != m.Into {
					t.Errorf("killed at statement %d: the tombstone is %+v, %v", n, tomb, err)
				}
				if acts := h.Count(`SELECT count(*) FROM audit_entries WHERE action = 'user.merge'
					AND subject = $1`, fmt.Sprint("user:", m.From)); acts != 1 {
					t.Errorf("killed at statement %d: %d merges in the audit", n, acts)
				}
				if !killed && n < 10 {
					t.Errorf("only %d statements to be killed at", n-1)
				}
			}
		})
	}
}
