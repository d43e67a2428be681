package app_test

import (
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/account/accounttest"
	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/mail"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/sqldb/sqldbtest"
)

// TestAddOperatorTells: when a command removes an operator's second factors, the operator gets an
// email, their sessions end, and it is audited. Without a loss there is no email.
func TestAddOperatorTells(t *testing.T) {
	cfg := config(t)
	cfg.Name, cfg.PublicURL = "Bazaar", "https://market.example"
	db := sqldbtest.OpenWith(t, cfg.DB, sqldb.Options{})
	box, err := app.Sealer(t.Context(), db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	by, book := audit.System("claviger operator"), &account.Store{DB: db, Now: app.Now, Sealer: box}
	add := func() account.User {
		t.Helper()
		a, err := app.AddOperator(t.Context(), db, cfg, by, "ann@market.example")
		if err != nil {
			t.Fatal(err)
		}
		u, err := book.Get(t.Context(), a.User.ID)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	mails := func() []mail.Record {
		t.Helper()
		list, err := (&mail.Outbox{Sealer: box}).Recent(t.Context(), db, 10)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	add()
	u := add()
	if list := mails(); len(list) != 0 {
		t.Errorf("who has no second factor is mailed %+v", list)
	}
	e := book.EnrolTOTP(u)
	if u, _, err = book.AddTOTP(t.Context(), audit.Actor{Kind: audit.ByUser, ID: u.ID}, u.ID, e.Sealed, accounttest.Code(t, e.Secret, time.Now())); err != nil {
		t.Fatal(err)
	}
	after := add()
	if after.SecondFactor || after.SessionEpoch == u.SessionEpoch {
		t.Errorf("the user is %+v", after)
	}
	list := mails()
	if len(list) != 1 || list[0].To != "ann@market.example" || !strings.Contains(list[0].Text, "All second factors were removed from your account at Bazaar.") ||
		!strings.Contains(list[0].Text, "https://market.example/account/security") {
		t.Errorf("the mails are %+v", list)
	}
	entries, _, err := (&audit.Log{DB: db}).List(t.Context(), audit.Filter{Action: "user.factors_remove"}, paging.First())
	if err != nil || len(entries) != 2 || entries[0].Actor.Name != by.Name || !strings.Contains(entries[0].Before, "true") {
		t.Errorf("the audit has %+v, %v", entries, err)
	}
}
