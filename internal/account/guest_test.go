package account_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/sqldb"
)

// guest starts a purchase without an account, in a browser.
func (d *harness) guest(t *testing.T, email, browser string) account.User {
	t.Helper()
	u, err := d.StartGuest(t.Context(), account.GuestOrder{Email: email, Browser: browser, PartnerID: 1, Tier: 1})
	if err != nil || !u.Guest() || u.Address() != email {
		t.Fatalf("StartGuest = %+v, %v", u, err)
	}
	return u
}

// pays lets a guest pay, and returns the token of the mailed link.
func (d *harness) pays(t *testing.T, u account.User) string {
	t.Helper()
	if err := d.GuestPaid(t.Context(), u.ID, account.Bought{Item: "Tide, One", Next: "/licenses/1"}); err != nil {
		t.Fatal(err)
	}
	return d.guestLink(t)
}

// guestLink returns the token of the link in the newest email.
func (d *harness) guestLink(t *testing.T) string {
	t.Helper()
	found := tokenText.FindStringSubmatch(d.mails(t)[0].Text)
	if found == nil {
		t.Fatalf("no link in\n%s", d.mails(t)[0].Text)
	}
	return found[1]
}

// in reports whether a browser may act as a guest.
func (d *harness) in(t *testing.T, browser string, userID int64) bool {
	t.Helper()
	u, ok, err := d.GuestIn(t.Context(), browser, userID)
	if err != nil || ok != (u.ID != 0) {
		t.Fatalf("GuestIn = %+v, %t, %v", u, ok, err)
	}
	return ok
}

// TestGuestIn: only the browser that began the purchase acts as the guest, and for a day.
func TestGuestIn(t *testing.T) {
	d := open(t)
	u := d.guest(t, "ann@example.com", "b1")
	other := d.guest(t, "ann@example.com", "b2")
	if again := d.guest(t, "ann@example.com", "b1"); again.ID != u.ID || other.ID == u.ID {
		t.Errorf("guests %d, %d and again %d", u.ID, other.ID, again.ID)
	}
	nowhere := d.guest(t, "ann@example.com", "")
	for name, c := range map[string]struct {
		browser string
		id      int64
		want    bool
	}{
		"its browser": {"b1", u.ID, true}, "another browser": {"b2", u.ID, false}, "no browser": {"", u.ID, false}, "no browser at all": {"", nowhere.ID, false},
		"nobody": {"b1", 0, false}, "another guest": {"b1", other.ID, false},
	} {
		if got := d.in(t, c.browser, c.id); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	_, err := d.StartGuest(t.Context(), account.GuestOrder{Email: "no address", Browser: "b1", PartnerID: 1, Tier: 1})
	refused(t, "no address", err, "invalid_field")
	n, err := sqldb.One(t.Context(), d.DB, sqldb.Value[int64], `SELECT count(*) FROM users WHERE operator`)
	if n != 0 || err != nil {
		t.Errorf("%d guests are operators, %v", n, err)
	}
	d.now = noon.Add(account.GuestLife - time.Microsecond)
	if !d.in(t, "b1", u.ID) {
		t.Error("it ends before a day is over")
	}
	d.now = noon.Add(account.GuestLife)
	if d.in(t, "b1", u.ID) {
		t.Error("it does not end after a day")
	}
}

// TestGuestLink: the mailed link proves the address once, within a week. Then the guest is an account,
// and neither the browser nor another link leads to it.
func TestGuestLink(t *testing.T) {
	d := open(t)
	u := d.guest(t, "ann@example.com", "b1")
	first := d.pays(t, u)
	mails := len(d.mails(t))
	if got := d.mails(t)[0].Subject; got != "Your license for Tide, One" {
		t.Errorf("the receipt is titled %q", got)
	}
	if err := d.GuestPaid(t.Context(), u.ID, account.Bought{Item: "again"}); err != nil || len(d.mails(t)) != mails {
		t.Errorf("paid twice: %d mails, %v", len(d.mails(t)), err)
	}
	if err := d.MailGuestAgain(t.Context(), u.ID); err != nil {
		t.Fatal(err)
	}
	second := d.guestLink(t)
	want := account.Opened{Purpose: account.ForPurchase, Email: "ann@example.com", Next: "/licenses/1"}
	if got, err := d.PeekLink(t.Context(), first); got != want || err != nil || second == first {
		t.Errorf("PeekLink = %+v, %v", got, err)
	}
	d.now = noon.Add(7*24*time.Hour - time.Microsecond)
	e := d.use(t, second, "")
	if e.User.ID != u.ID || e.User.Guest() || e.User.Email != "ann@example.com" || !e.User.ProvenAt.Equal(d.now) || !e.First ||
		e.User.SessionEpoch != u.SessionEpoch+1 || e.Purpose != account.ForPurchase || e.Next != "/licenses/1" {
		t.Errorf("UseLink = %+v", e)
	}
	if now, err := d.Get(t.Context(), u.ID); err != nil || now != e.User {
		t.Errorf("stored is %+v, %v; want %+v", now, err, e.User)
	}
	if d.in(t, "b1", u.ID) {
		t.Error("the browser still acts as the guest")
	}
	d.dead(t, map[string]string{first: "link_expired", second: "link_used"})
	if got := d.actions(t); !slices.Contains(got, "user.guest user:1") || got[len(got)-1] != "user.sign_in user:1" {
		t.Errorf("audited %q", got)
	}
	late := d.pays(t, d.guest(t, "bob@example.com", "b1"))
	d.now = d.now.Add(7 * 24 * time.Hour)
	d.dead(t, map[string]string{late: "link_expired"})
}

// TestGuestLinkOfAccount: if the address has an account, the link signs in that account, and proves it.
func TestGuestLinkOfAccount(t *testing.T) {
	d := open(t)
	ann := d.create(t, account.Person{Email: "ann@example.com"})
	u := d.guest(t, "Ann@example.com", "b1")
	link := d.pays(t, u)
	e := d.use(t, link, "")
	if e.User.ID != ann.ID || !e.User.ProvenAt.Equal(d.now) {
		t.Errorf("UseLink = %+v", e)
	}
	if now, err := d.Get(t.Context(), ann.ID); err != nil || now != e.User {
		t.Errorf("stored is %+v, %v; want %+v", now, err, e.User)
	}
	d.dead(t, map[string]string{link: "link_used"})
}

// TestGuestMailsAreLimited: a guest gets few links per hour, and only after the payment.
func TestGuestMailsAreLimited(t *testing.T) {
	d := open(t)
	u := d.guest(t, "ann@example.com", "b1")
	again := func(want int) {
		t.Helper()
		if err := d.MailGuestAgain(t.Context(), u.ID); err != nil || len(d.mails(t)) != want {
			t.Errorf("%d mails, want %d; %v", len(d.mails(t)), want, err)
		}
	}
	again(0)
	d.pays(t, u)
	for _, want := range []int{2, 3, 3} {
		again(want)
	}
	d.now = d.now.Add(time.Hour)
	again(4)
}

// TestGuestAsksForLink: if several guests have an address, its sign-in link is for the last one that paid.
func TestGuestAsksForLink(t *testing.T) {
	d := open(t)
	first, second, unpaid := d.guest(t, "ann@example.com", "b1"), d.guest(t, "ann@example.com", "b2"), d.guest(t, "bob@example.com", "b3")
	d.pays(t, first)
	d.pays(t, second)
	d.now = d.now.Add(2 * time.Hour)
	mails := len(d.mails(t))
	if err := d.SendLink(t.Context(), unpaid.Address(), "/next"); err != nil || len(d.mails(t)) != mails {
		t.Errorf("who has not paid gets %d mails, %v", len(d.mails(t))-mails, err)
	}
	if err := d.SendLink(t.Context(), "ANN@example.com", "/next"); err != nil || len(d.mails(t)) != mails+1 {
		t.Fatalf("%d mails, %v", len(d.mails(t))-mails, err)
	}
	if e := d.use(t, d.guestLink(t), ""); e.User.ID != second.ID {
		t.Errorf("it signs in user %d, want %d", e.User.ID, second.ID)
	}
}

// TestEndErased: a guest that the previous release erased loses the address. Other guests keep theirs.
func TestEndErased(t *testing.T) {
	d := open(t)
	gone, stays := d.guest(t, "gone@example.com", "b1"), d.guest(t, "stays@example.com", "b2")
	link, other := d.pays(t, gone), d.pays(t, stays)
	d.exec(t, `UPDATE users SET erased_at = 1 WHERE id = $1`, gone.ID)
	for range 2 {
		if err := account.EndErased(t.Context(), d.DB, d.now); err != nil {
			t.Fatal(err)
		}
	}
	left, err := sqldb.All(t.Context(), d.DB, sqldb.Value[string], `SELECT guest_email || guest_email_key FROM users ORDER BY id`)
	if want := []string{"", "stays@example.comstays@example.com"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left are %q, %v", left, err)
	}
	d.dead(t, map[string]string{link: "link_expired"})
	if e := d.use(t, other, ""); e.User.ID != stays.ID {
		t.Errorf("%+v", e)
	}
}

// TestEndedGuest: neither a browser nor a link leads to an erased or merged guest.
func TestEndedGuest(t *testing.T) {
	for name, end := range map[string]func(tx *sqldb.Tx, id, other int64, at time.Time) error{
		"erased": func(tx *sqldb.Tx, id, _ int64, at time.Time) error {
			_, _, err := account.Erase(context.Background(), tx, operator, id, at)
			return err
		},
		"merged": func(tx *sqldb.Tx, id, other int64, at time.Time) error {
			_, err := account.Absorb(context.Background(), tx, id, other, at)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			ann := d.create(t, account.Person{Email: "ann@example.com"})
			u := d.guest(t, "bob@example.com", "b1")
			link := d.pays(t, u)
			d.write(t, func(tx *sqldb.Tx) error { return end(tx, u.ID, ann.ID, d.now) })
			d.dead(t, map[string]string{link: "link_expired"})
			n, err := sqldb.One(t.Context(), d.DB, sqldb.Value[int64], `SELECT count(*) FROM guests`)
			if n != 0 || err != nil || d.in(t, "b1", u.ID) {
				t.Errorf("%d browsers act as the guest, %v", n, err)
			}
		})
	}
}

// TestAbsorbEndsLinks: sign-in links of a merged user end, and those merged into it belong to the other.
func TestAbsorbEndsLinks(t *testing.T) {
	d := open(t)
	ann, bob := d.create(t, account.Person{Email: "ann@example.com"}), d.create(t, account.Person{Email: "bob@example.com"})
	cal := d.create(t, account.Person{Email: "cal@example.com"})
	link := d.ask(t, account.ForSignIn, "bob@example.com")
	d.exec(t, `INSERT INTO signed_sessions (hash, user_id, epoch, browser, client, begun_at, seen_at, expires_at)
		VALUES ('h', $1, 0, 'b', '192.0.2.7', 1, 1, 2), ('i', $2, 0, 'b', '192.0.2.7', 1, 1, 2)`, bob.ID, ann.ID)
	for _, c := range [][2]int64{{cal.ID, bob.ID}, {bob.ID, ann.ID}} {
		d.write(t, func(tx *sqldb.Tx) error {
			_, err := account.Absorb(t.Context(), tx, c[0], c[1], d.now)
			return err
		})
	}
	d.dead(t, map[string]string{link: "invalid_link"})
	left, err := sqldb.All(t.Context(), d.DB, sqldb.Value[int64], `SELECT user_id FROM signed_sessions`)
	if err != nil || !slices.Equal(left, []int64{ann.ID}) {
		t.Errorf("sessions are left of %d, %v", left, err)
	}
	if got, err := account.Merged(t.Context(), d.DB, ann.ID); err != nil || !slices.Equal(got, []int64{bob.ID, cal.ID}) {
		t.Errorf("merged: %d, %v", got, err)
	}
}

// TestCorrectedGuest: links to the address that was typed by mistake end.
func TestCorrectedGuest(t *testing.T) {
	d := open(t)
	u := d.guest(t, "anm@example.com", "b1")
	wrong := d.pays(t, u)
	d.now = d.now.Add(time.Minute)
	got, err := d.SetEmail(t.Context(), operator, u.ID, "ann@example.com")
	if err != nil || got.Address() != "ann@example.com" || !got.Guest() || !got.UpdatedAt.Equal(d.now) {
		t.Fatalf("%+v, %v", got, err)
	}
	if now, err := d.Get(t.Context(), u.ID); err != nil || now != got {
		t.Errorf("stored is %+v, %v; want %+v", now, err, got)
	}
	d.dead(t, map[string]string{wrong: "invalid_link"})
	if to := d.mails(t)[0].To; to != "ann@example.com" {
		t.Errorf("mailed to %s", to)
	}
	if e := d.use(t, d.guestLink(t), ""); e.User.Email != "ann@example.com" {
		t.Errorf("%+v", e)
	}
}

// TestDeleteUnpaid: guests with a payment stay, also while the payment is pending.
func TestDeleteUnpaid(t *testing.T) {
	d := open(t)
	old, paid, paying := d.guest(t, "a@example.com", "b"), d.guest(t, "b@example.com", "b"), d.guest(t, "c@example.com", "b")
	d.pays(t, paid)
	ann := d.create(t, account.Person{Email: "ann@example.com"})
	d.now = d.now.Add(time.Hour)
	young := d.guest(t, "d@example.com", "b")
	err := account.EachUnpaid(t.Context(), d.DB, d.now, func(ids []int64) error {
		if !slices.Equal(ids, []int64{old.ID, paying.ID}) {
			t.Errorf("unpaid are %d", ids)
		}
		ids = append(ids, paid.ID, ann.ID)
		n, err := account.DeleteUnpaid(t.Context(), d.DB, ids, func(_ *sqldb.Tx, locked []int64) ([]int64, error) {
			if !slices.Equal(locked, []int64{old.ID, paid.ID, paying.ID}) {
				t.Errorf("locked are %d", locked)
			}
			return []int64{paying.ID}, nil
		})
		if n != 1 {
			t.Errorf("%d are deleted", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	users, err := d.Users(t.Context(), []int64{old.ID, paid.ID, paying.ID, ann.ID, young.ID})
	if _, there := users[old.ID]; err != nil || there || len(users) != 4 {
		t.Errorf("left are %v, %v", users, err)
	}
	if list, err := account.PaidGuests(t.Context(), d.DB, "b@example.com"); err != nil || !slices.Equal(list, []int64{paid.ID}) {
		t.Errorf("paid: %d, %v", list, err)
	}
}
