package account_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// hashText is a password as it is stored: with a salt of 16 bytes and a key of 32.
var hashText = regexp.MustCompile(`^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$`)

func TestPassword(t *testing.T) {
	d := open(t)
	ann := d.create(t, account.Person{Email: "ann@example.com"})
	d.create(t, account.Person{Email: "bob@example.com"})
	d.HashCost = account.HashCost{} // as in production
	hash, err := d.NewPassword(t.Context(), "", "correct horse")
	if err != nil || !hashText.MatchString(string(hash)) {
		t.Fatalf("NewPassword = %q, %v", hash, err)
	}
	d.write(t, func(tx *sqldb.Tx) error {
		return account.SetPassword(t.Context(), tx, operator, ann.ID, hash, d.now)
	})
	ann.ProvenAt, ann.SessionEpoch = d.now, 1
	if got, err := d.SignIn(t.Context(), " ANN@example.com ", "correct horse", account.Client{}); got != ann || err != nil {
		t.Errorf("SignIn = %+v, %v; want %+v", got, err, ann)
	}
	for name, c := range map[string][2]string{
		"wrong password": {"ann@example.com", "Correct horse"},
		"empty password": {"ann@example.com", ""},
		"huge password":  {"ann@example.com", strings.Repeat("x", 1<<20)},
		"no password":    {"bob@example.com", "correct horse"},
		"none, none":     {"bob@example.com", ""},
		"nobody":         {"eve@example.com", "correct horse"},
		"empty address":  {"", ""},
		"broken address": {"ann@example.com\x00\xff", "correct horse"},
	} {
		_, err := d.SignIn(t.Context(), c[0], c[1], account.Client{})
		if f := fault.Of(err); f == nil || f.Kind != fault.Unknown || f.Code != "invalid_credentials" {
			t.Errorf("%s: %v, want invalid_credentials", name, err)
		}
	}
	if diff := cmp.Diff([]string{"user.create user:1", "user.create user:2", "user.password user:1", "user.sign_in user:1"}, d.actions(t)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

// withPassword makes a user with a password.
func (d *harness) withPassword(t *testing.T, email, password string) account.User {
	t.Helper()
	browser := d.signUp(t, email, password, "")
	return d.use(t, d.mailed(t), browser).User
}

func TestChangePassword(t *testing.T) {
	d := open(t)
	bob := d.withPassword(t, "bob@example.com", "first password")
	waits := d.ask(t, account.ForSignIn, "bob@example.com")
	for name, c := range map[string]struct{ current, typed, field string }{
		"wrong":     {"second password", "second password", "current_password"},
		"empty":     {"", "second password", "current_password"},
		"huge":      {strings.Repeat("x", 1<<20), "second password", "current_password"},
		"too short": {"first password", "second", "password"},
	} {
		_, err := d.ChangePassword(t.Context(), by(bob), bob.ID, c.current, c.typed)
		if f := fault.Of(err); f == nil || f.Code != "invalid_field" || f.Field != c.field {
			t.Errorf("%s: %v, want invalid_field on %s", name, err, c.field)
		}
	}
	if !d.opens(t, "bob@example.com", "first password") {
		t.Fatal("a refused change changed the password")
	}
	d.now = noon.Add(time.Minute)
	bob.SessionEpoch, bob.UpdatedAt = bob.SessionEpoch+1, d.now
	if got, err := d.ChangePassword(t.Context(), by(bob), bob.ID, "first password", "second password"); got != bob || err != nil {
		t.Errorf("ChangePassword = %+v, %v; want %+v", got, err, bob)
	}
	if got, err := d.Get(t.Context(), bob.ID); got != bob || err != nil {
		t.Errorf("Get = %+v, %v; want %+v", got, err, bob)
	}
	if d.opens(t, "bob@example.com", "first password") || !d.opens(t, "bob@example.com", "second password") {
		t.Error("not the new password works")
	}
	d.dead(t, map[string]string{waits: "link_expired"})
	tries, err := sqldb.All(t.Context(), d.DB, sqldb.Value[int64], `SELECT count FROM password_tries ORDER BY count`)
	if want := []int64{1, 3}; err != nil || !slices.Equal(tries, want) {
		t.Errorf("%d wrong tries are counted, %v", tries, err)
	}

	ann := d.create(t, account.Person{Email: "ann@example.com"})
	if _, err := d.ChangePassword(t.Context(), by(ann), ann.ID, "", "annes password"); err != nil || !d.opens(t, "ann@example.com", "annes password") {
		t.Errorf("the first password: %v", err)
	}
	if _, err := d.ChangePassword(t.Context(), by(ann), 99, "", "annes password"); !fault.Is(err, "unknown_user") {
		t.Errorf("nobody's password: %v", err)
	}
}

// TestChangePasswordAtOnce checks that of several concurrent changes with the same current
// password, one succeeds.
func TestChangePasswordAtOnce(t *testing.T) {
	d := open(t)
	bob := d.withPassword(t, "bob@example.com", "first password")
	var changed atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := d.ChangePassword(t.Context(), by(bob), bob.ID, "first password", "second password")
			switch {
			case err == nil:
				changed.Add(1)
			case !fault.Is(err, "invalid_field"):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if changed.Load() != 1 {
		t.Errorf("%d changed it, want 1", changed.Load())
	}
}

func TestResetPassword(t *testing.T) {
	d := open(t)
	bob := d.withPassword(t, "bob@example.com", "first password")
	reset := func(typed string) (account.User, error) { return d.ResetPassword(t.Context(), by(bob), bob.ID, typed) }
	over := func(when string) {
		t.Helper()
		if _, err := reset("stolen password"); !fault.Is(err, "reset_over") || fault.Of(err).Kind != fault.Conflict {
			t.Errorf("%s: %v", when, err)
		}
	}
	over("before a link")
	d.use(t, d.ask(t, account.ForSignIn, "bob@example.com"), "")
	over("after a sign-in link")
	link, other := d.ask(t, account.ForReset, "bob@example.com"), d.ask(t, account.ForReset, "bob@example.com")
	over("before the link is used")
	if e := d.use(t, link, ""); !e.NeedsPassword || e.Purpose != account.ForReset || e.User != bob || e.Next != "/next" {
		t.Errorf("UseLink = %+v", e)
	}
	d.dead(t, map[string]string{link: "link_used", other: "link_expired"})
	if !d.opens(t, "bob@example.com", "first password") {
		t.Error("the old password ended before there was a new one")
	}
	if _, err := reset("short"); !fault.Is(err, "invalid_field") {
		t.Errorf("too short: %v", err)
	}
	d.now = noon.Add(time.Hour - time.Microsecond)
	bob.SessionEpoch, bob.UpdatedAt = bob.SessionEpoch+1, d.now
	if got, err := reset("second password"); got != bob || err != nil {
		t.Errorf("ResetPassword = %+v, %v; want %+v", got, err, bob)
	}
	if d.opens(t, "bob@example.com", "first password") || !d.opens(t, "bob@example.com", "second password") {
		t.Error("not the new password works")
	}
	over("a second time")
	d.use(t, d.ask(t, account.ForReset, "bob@example.com"), "")
	d.now = d.now.Add(time.Hour)
	over("an hour later")
	if d.opens(t, "bob@example.com", "stolen password") {
		t.Error("a refused reset changed the password")
	}
}

func TestSignOutEverywhere(t *testing.T) {
	d := open(t)
	bob := d.withPassword(t, "bob@example.com", "first password")
	waits := d.ask(t, account.ForSignIn, "bob@example.com")
	used := d.use(t, d.ask(t, account.ForReset, "bob@example.com"), "").User
	d.now = noon.Add(time.Minute)
	bob.SessionEpoch, bob.UpdatedAt = used.SessionEpoch+1, d.now
	if got, err := d.SignOutEverywhere(t.Context(), by(bob), bob.ID); got != bob || err != nil {
		t.Errorf("SignOutEverywhere = %+v, %v; want %+v", got, err, bob)
	}
	if got, err := d.Get(t.Context(), bob.ID); got != bob || err != nil {
		t.Errorf("Get = %+v, %v; want %+v", got, err, bob)
	}
	d.dead(t, map[string]string{waits: "link_expired"})
	if _, err := d.ResetPassword(t.Context(), by(bob), bob.ID, "second password"); !fault.Is(err, "reset_over") {
		t.Errorf("a reset under way: %v", err)
	}
	if !d.opens(t, "bob@example.com", "first password") {
		t.Error("the password does not work any more")
	}
	if got := d.actions(t); got[len(got)-2] != "user.sign_out_everywhere user:1" {
		t.Errorf("audit: %v", got)
	}
	if _, err := d.SignOutEverywhere(t.Context(), by(bob), 99); !fault.Is(err, "unknown_user") {
		t.Errorf("nobody: %v", err)
	}
}

func TestData(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{Email: "bob@example.com", ExternalID: "u-1"})
	want := account.Data{Email: "bob@example.com", ExternalID: "u-1", CreatedAt: noon, UpdatedAt: noon}
	if got, err := d.Data(t.Context(), u.ID); got != want || err != nil {
		t.Errorf("Data = %+v, %v; want %+v", got, err, want)
	}
	d.now = noon.Add(time.Minute)
	d.withPassword(t, "bob@example.com", "first password")
	want.Name, want.HasPassword, want.ProvenAt, want.UpdatedAt = "Bob Ray", true, d.now, d.now
	if got, err := d.Data(t.Context(), u.ID); got != want || err != nil {
		t.Errorf("Data = %+v, %v; want %+v", got, err, want)
	}
	if _, err := d.Data(t.Context(), 99); !fault.Is(err, "unknown_user") {
		t.Errorf("Data of nobody: %v", err)
	}
}

func TestNewPasswordRefuses(t *testing.T) {
	for _, typed := range []string{"", "short", strings.Repeat("é", 7), strings.Repeat("x", 1025), "not utf-8 \xff\xff"} {
		if _, err := new(account.Store).NewPassword(t.Context(), "", typed); !fault.Is(err, "invalid_field") {
			t.Errorf("NewPassword of %d bytes: %v", len(typed), err)
		}
	}
}

// TestLongPassword: 1,024 bytes are a password. More is never compared, whatever is stored:
// it would cost anyone who sends it nothing, and us a lot.
func TestLongPassword(t *testing.T) {
	d := open(t)
	longest := strings.Repeat("0123456789abcde\n", 64)
	if u := d.withPassword(t, "ann@example.com", longest); !d.opens(t, u.Email, longest) {
		t.Error("the longest password does not work")
	}
	bob := d.create(t, account.Person{Email: "bob@example.com"})
	cheap := &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
	hash, err := argon2id.CreateHash(longest+"x", cheap)
	if err != nil {
		t.Fatal(err)
	}
	set := func(id int64, p account.Password) error {
		return d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			return account.SetPassword(t.Context(), tx, operator, id, p, d.now)
		})
	}
	if err := set(bob.ID, account.Password(hash)); err != nil || d.opens(t, bob.Email, longest+"x") {
		t.Errorf("a longer one was compared (%v)", err)
	}
	if err := set(bob.ID, "not a hash"); err != nil {
		t.Fatal(err)
	}
	_, err = d.SignIn(t.Context(), bob.Email, "not a hash", account.Client{})
	if err == nil || fault.Of(err) != nil {
		t.Errorf("a hash that cannot be read: %v", err)
	}
	refused(t, "the password of nobody", set(999, account.Password(hash)), account.CodeUnknownUser)
	d.write(t, func(tx *sqldb.Tx) error {
		_, _, err := account.Erase(t.Context(), tx, operator, bob.ID, d.now)
		return err
	})
	refused(t, "the password of an erased user", set(bob.ID, account.Password(hash)), account.CodeUserErased)
}

// TestNewPasswordWaits fills the seats, and finds that a caller who leaves does
// not wait on.
func TestNewPasswordWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	for range 20 {
		go func() {
			_, err := new(account.Store).NewPassword(ctx, "", "correct horse")
			left <- err
		}()
	}
	cancel()
	for range 20 {
		if err := <-left; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}
