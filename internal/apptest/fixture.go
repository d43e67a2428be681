package apptest

import (
	"fmt"
	"time"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// Partner enrols a partner with these URLs.
func (h *Harness) Partner(name string, urls profile.URLs) (partner.Partner, partner.Credentials) {
	h.Helper()
	p, _, c, err := h.Profiles.Enrol(h.Context(), Tester, partner.Draft{Name: name}, urls, false, partner.Credentials{})
	h.Must(err)
	return p, c
}

// Plans creates plans of the tiers 1 to tiers for a partner, each for a multiple of the price.
func (h *Harness) Plans(partnerID int64, tiers int, each partner.Plan) {
	h.Helper()
	for tier := 1; tier <= tiers; tier++ {
		plan := each
		plan.Tier = tier
		plan.PriceCents = int64(tier) * each.PriceCents
		if plan.Name == "" {
			plan.Name = fmt.Sprintf("Tier %d", tier)
		}
		_, _, err := h.Partners.PutPlan(h.Context(), Tester, partnerID, plan)
		h.Must(err)
	}
}

// User makes a user.
func (h *Harness) User(email string) account.User {
	h.Helper()
	u, _, err := h.Accounts.Create(h.Context(), Tester, account.Person{Email: email})
	h.Must(err)
	return u
}

// SetPassword gives a user a password.
func (h *Harness) SetPassword(userID int64, password string) {
	h.Helper()
	u, err := h.Accounts.Get(h.Context(), userID)
	h.Must(err)
	hash, err := h.Accounts.NewPassword(h.Context(), u.Email, password)
	h.Must(err)
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		return account.SetPassword(h.Context(), tx, Tester, userID, hash, h.Accounts.Now())
	}))
}

// Session begins a session of a user that is stored under a key, and returns its id. No browser has
// it.
func (h *Harness) Session(u account.User, key string) string {
	h.Helper()
	now := h.Accounts.Now()
	h.Must(
		(&account.Sessions{DB: h.DB, Now: h.Accounts.Now}).CommitCtx(h.Context(), key, []byte("x"), now.Add(time.Hour)),
	)
	h.Must(h.Accounts.NoteSession(h.Context(), key, account.NewSession{
		UserID: u.ID, Epoch: u.SessionEpoch, Browser: "Firefox on Linux", Client: "192.0.2.7", BegunAt: now,
	}))
	return account.SessionID(key)
}

// Token makes an operator token with these scopes.
func (h *Harness) Token(name string, scopes ...account.Scope) string {
	h.Helper()
	_, token, err := h.Accounts.AddToken(h.Context(), Tester, name, scopes, time.Time{}, "")
	h.Must(err)
	return token
}

// Buy sells an order, one license by default, and returns the first license.
func (h *Harness) Buy(order license.Purchase) license.License {
	h.Helper()
	order.Quantity = max(order.Quantity, 1)
	sold, err := h.Licenses.Purchase(h.Context(), Tester, order)
	h.Must(err)
	return sold.Licenses[0]
}

// Mails returns the emails to an address, newest first, sent or not.
func (h *Harness) Mails(to string) []mail.Record {
	h.Helper()
	_, err := (&account.LinkMailer{Store: h.Accounts}).Round(h.Context())
	h.Must(err)
	all, err := h.Mail.Recent(h.Context(), h.DB, 1000)
	h.Must(err)
	var list []mail.Record
	for _, m := range all {
		if m.To == to {
			list = append(list, m)
		}
	}
	return list
}

// Count runs a query for a number.
func (h *Harness) Count(sql string, args ...any) int64 {
	h.Helper()
	n, err := sqldb.One(h.Context(), h.DB, sqldb.Value[int64], sql, args...)
	h.Must(err)
	return n
}

// Exec changes the database, bypassing the services.
func (h *Harness) Exec(sql string, args ...any) {
	h.Helper()
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Exec(h.Context(), sql, args...)
		return err
	}))
}
