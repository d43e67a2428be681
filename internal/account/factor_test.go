package account_test

import (
	"encoding/base32"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/account/accounttest"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// code is the one-time code of a secret at the desk's time, and skew steps later.
func (d *desk) code(t *testing.T, secret string, skew int) string {
	t.Helper()
	return accounttest.Code(t, secret, d.now.Add(time.Duration(skew)*30*time.Second))
}

// enrolled is a user with a password and one-time codes, whose first code is used; the
// clock is a minute later.
func (d *desk) enrolled(t *testing.T, email string) (u account.User, secret string, codes []string) {
	t.Helper()
	u = d.withPassword(t, email, "correct horse")
	e := d.EnrolTOTP(u)
	u, codes, err := d.AddTOTP(t.Context(), by(u), u.ID, e.Sealed, d.code(t, e.Secret, 0))
	if err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(time.Minute)
	return u, e.Secret, codes
}

func first(u account.User) account.FirstStep {
	return account.FirstStep{UserID: u.ID, Epoch: u.SessionEpoch}
}

// refused checks the code of a fault.
func refused(t *testing.T, what string, err error, code string) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// TestTOTPVectors are those of RFC 6238, appendix B, cut to six digits.
func TestTOTPVectors(t *testing.T) {
	secret := base32.StdEncoding.EncodeToString([]byte("12345678901234567890"))
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 20000000000: "353130"} {
		if got := accounttest.Code(t, secret, time.Unix(at, 0)); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
}

func TestAddTOTP(t *testing.T) {
	d := open(t)
	u := d.withPassword(t, "ann@example.com", "correct horse")
	other := d.withPassword(t, "bob@example.com", "correct horse")
	e := d.EnrolTOTP(u)
	if !strings.HasPrefix(e.URI, "otpauth://totp/Bazaar:ann@example.com?secret="+e.Secret+"&issuer=Bazaar") {
		t.Error(e.URI)
	}
	_, _, err := d.AddTOTP(t.Context(), by(u), u.ID, e.Sealed, "000000")
	if f := fault.Of(err); f == nil || f.Field != "code" {
		t.Errorf("a wrong code: %v", err)
	}
	_, _, err = d.AddTOTP(t.Context(), by(other), other.ID, e.Sealed, d.code(t, e.Secret, 0))
	refused(t, "the enrolment of somebody else", err, account.CodeEnrolmentOver)
	after, codes, err := d.AddTOTP(t.Context(), by(u), u.ID, e.Sealed, d.code(t, e.Secret, 0))
	if err != nil || len(codes) != 10 || !after.SecondFactor || after.SessionEpoch == u.SessionEpoch {
		t.Fatalf("%v, %d recovery codes, %+v", err, len(codes), after)
	}
	_, _, err = d.AddTOTP(t.Context(), by(u), u.ID, e.Sealed, d.code(t, e.Secret, 0))
	refused(t, "the same enrolment again", err, account.CodeEnrolmentOver)
	stored, err := sqldb.One(t.Context(), d.DB, sqldb.Value[string], `SELECT sealed FROM totp_secrets`)
	if err != nil || strings.Contains(stored, e.Secret) {
		t.Errorf("stored as %q, %v", stored, err)
	}
	late := d.EnrolTOTP(after)
	d.now = d.now.Add(31 * time.Minute)
	_, _, err = d.AddTOTP(t.Context(), by(u), u.ID, late.Sealed, d.code(t, late.Secret, 0))
	refused(t, "after half an hour", err, account.CodeEnrolmentOver)
}

func TestSecondStep(t *testing.T) {
	d := open(t)
	u, secret, _ := d.enrolled(t, "ann@example.com")
	bob, bobs, _ := d.enrolled(t, "bob@example.com")
	d.now = d.now.Add(time.Minute)
	step := func(typed string) error {
		_, err := d.SecondStep(t.Context(), first(u), typed, account.Client{})
		return err
	}
	for _, typed := range []string{"", "000000", d.code(t, bobs, 0), d.code(t, secret, 2), d.code(t, secret, -2)} {
		refused(t, "code "+typed, step(typed), account.CodeInvalidCode)
	}
	before := d.code(t, secret, -1)
	if err := step(before[:3] + " " + before[3:]); err != nil {
		t.Errorf("the code of the step before: %v", err)
	}
	refused(t, "the same again", step(before), account.CodeInvalidCode)
	if err := step(d.code(t, secret, 1)); err != nil {
		t.Errorf("the code of the step after: %v", err)
	}
	refused(t, "one older than the last", step(d.code(t, secret, 0)), account.CodeInvalidCode)
	d.now = d.now.Add(time.Minute)
	_, err := d.SecondStep(t.Context(), account.FirstStep{UserID: u.ID, Epoch: u.SessionEpoch - 1}, d.code(t, secret, 0), account.Client{})
	refused(t, "after a change of the account", err, account.CodeStepOver)
	if err := step(d.code(t, secret, 0)); err != nil {
		t.Errorf("a refused step used the code up: %v", err)
	}
	if _, err := d.SecondStep(t.Context(), first(bob), d.code(t, bobs, 0), account.Client{}); err != nil {
		t.Error(err)
	}
}

// TestCodesAreBounded: right or wrong, after ten wrong ones no code is looked at for an
// hour, of this account only.
func TestCodesAreBounded(t *testing.T) {
	d := open(t)
	u, secret, codes := d.enrolled(t, "ann@example.com")
	bob, bobs, _ := d.enrolled(t, "bob@example.com")
	for range 10 {
		_, err := d.SecondStep(t.Context(), first(u), "000000", account.Client{})
		refused(t, "a wrong code", err, account.CodeInvalidCode)
	}
	for _, typed := range []string{d.code(t, secret, 0), codes[0]} {
		_, err := d.SecondStep(t.Context(), first(u), typed, account.Client{})
		refused(t, "the right code", err, account.CodeTooManyTries)
		err = d.ConfirmCode(t.Context(), by(u), u.ID, typed)
		refused(t, "the right code to confirm", err, account.CodeTooManyTries)
	}
	if _, err := d.SecondStep(t.Context(), first(bob), d.code(t, bobs, 0), account.Client{}); err != nil {
		t.Error(err)
	}
	d.now = d.now.Add(time.Hour)
	for range 12 { // those that are right do not count
		d.now = d.now.Add(time.Minute)
		if _, err := d.SecondStep(t.Context(), first(u), d.code(t, secret, 0), account.Client{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRecoveryCodes(t *testing.T) {
	d := open(t)
	u, _, codes := d.enrolled(t, "ann@example.com")
	bob, _, _ := d.enrolled(t, "bob@example.com")
	step := func(u account.User, typed string) error {
		_, err := d.SecondStep(t.Context(), first(u), typed, account.Client{})
		return err
	}
	refused(t, "the code of somebody else", step(bob, codes[0]), account.CodeInvalidCode)
	if err := step(u, strings.ToUpper(strings.ReplaceAll(codes[0], "-", " "))); err != nil {
		t.Error(err)
	}
	refused(t, "the same again", step(u, codes[0]), account.CodeInvalidCode)
	if f, err := d.Factors(t.Context(), u.ID); err != nil || f.RecoveryCodes != 9 {
		t.Errorf("%+v, %v", f, err)
	}
	after, fresh, err := d.NewRecoveryCodes(t.Context(), by(u), u.ID)
	if err != nil || len(fresh) != 10 || slices.Contains(fresh, codes[1]) || after.SessionEpoch == u.SessionEpoch {
		t.Fatalf("%q, %v", fresh, err)
	}
	refused(t, "an old one", step(after, codes[1]), account.CodeInvalidCode)
	if err := step(after, fresh[1]); err != nil {
		t.Error(err)
	}
	stored, err := sqldb.All(t.Context(), d.DB, sqldb.Value[string], `SELECT hash FROM recovery_codes`)
	if err != nil || strings.Contains(strings.Join(stored, " "), strings.ReplaceAll(fresh[2], "-", "")) {
		t.Errorf("stored as %q, %v", stored, err)
	}
	plain := d.withPassword(t, "carl@example.com", "correct horse")
	_, _, err = d.NewRecoveryCodes(t.Context(), by(plain), plain.ID)
	refused(t, "without a second factor", err, account.CodeNoFactor)
}

// TestCodesAtOnce: of many who send one code at once, from several nodes, one gets in.
func TestCodesAtOnce(t *testing.T) {
	d := open(t)
	u, secret, codes := d.enrolled(t, "ann@example.com")
	for _, typed := range []string{d.code(t, secret, 0), codes[0]} {
		results := make([]error, 8)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() {
				node := &account.Book{DB: d.DB, Now: d.Now, Sealer: d.Sealer}
				_, results[i] = node.SecondStep(t.Context(), first(u), typed, account.Client{})
			})
		}
		wg.Wait()
		in := 0
		for _, err := range results {
			if err == nil {
				in++
			}
		}
		if in != 1 {
			t.Errorf("%d got in with one code: %v", in, results)
		}
		d.now = d.now.Add(2 * time.Hour)
	}
}

func TestRemoveTOTP(t *testing.T) {
	d := open(t)
	u, secret, codes := d.enrolled(t, "ann@example.com")
	d.write(t, func(tx *sqldb.Tx) error {
		_, err := account.SetRole(t.Context(), tx, operator, u.ID, account.RoleAdmin, d.now)
		return err
	})
	d.Require = account.RequireAdmins
	_, err := d.RemoveTOTP(t.Context(), by(u), u.ID)
	refused(t, "the last one of an admin", err, account.CodeFactorRequired)
	d.Require = account.RequireNone
	after, err := d.RemoveTOTP(t.Context(), by(u), u.ID)
	if err != nil || after.SecondFactor || after.SessionEpoch == u.SessionEpoch {
		t.Fatalf("%+v, %v", after, err)
	}
	for _, typed := range []string{d.code(t, secret, 0), codes[0]} {
		_, err := d.SecondStep(t.Context(), first(after), typed, account.Client{})
		refused(t, "a code afterwards", err, account.CodeInvalidCode)
	}
}

func TestRemoveFactors(t *testing.T) {
	d := open(t)
	u, _, _ := d.enrolled(t, "ann@example.com")
	other, _, _ := d.enrolled(t, "bob@example.com")
	link, _, err := d.Link(t.Context(), operator, u.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	d.write(t, func(tx *sqldb.Tx) error {
		after, err := d.RemoveFactors(t.Context(), tx, audit.System("operator add"), u.ID, d.now)
		if after.SecondFactor || after.SessionEpoch == u.SessionEpoch {
			t.Errorf("%+v", after)
		}
		return err
	})
	if f, err := d.Factors(t.Context(), u.ID); err != nil || f.Any() || f.RecoveryCodes != 0 {
		t.Errorf("left: %+v, %v", f, err)
	}
	if f, err := d.Factors(t.Context(), other.ID); err != nil || !f.TOTP || f.RecoveryCodes != 10 {
		t.Errorf("of somebody else: %+v, %v", f, err)
	}
	_, err = d.UseLink(t.Context(), token(t, link), "", "")
	refused(t, "a link from before", err, account.CodeLinkExpired)
	if got := d.actions(t); !slices.Contains(got, "user.factors_remove user:1") {
		t.Errorf("audited: %q", got)
	}
}

func TestEraseRemovesFactors(t *testing.T) {
	d := open(t)
	u, _, _ := d.enrolled(t, "ann@example.com")
	d.write(t, func(tx *sqldb.Tx) error {
		_, after, err := account.Erase(t.Context(), tx, operator, u.ID, d.now)
		if after.SecondFactor {
			t.Error("the erased user has a second factor")
		}
		return err
	})
	if f, err := d.Factors(t.Context(), u.ID); err != nil || f.Any() || f.RecoveryCodes != 0 {
		t.Errorf("left: %+v, %v", f, err)
	}
}

func TestConfirm(t *testing.T) {
	d := open(t)
	u, secret, _ := d.enrolled(t, "ann@example.com")
	if err := d.ConfirmCode(t.Context(), by(u), u.ID, d.code(t, secret, 0)); err != nil {
		t.Error(err)
	}
	refused(t, "the same code", d.ConfirmCode(t.Context(), by(u), u.ID, d.code(t, secret, 0)), account.CodeInvalidCode)
	if err := d.ConfirmPassword(t.Context(), by(u), u.ID, "correct horse"); err != nil {
		t.Error(err)
	}
	for _, typed := range []string{"", "wrong horse"} {
		if f := fault.Of(d.ConfirmPassword(t.Context(), by(u), u.ID, typed)); f == nil || f.Field != "current_password" {
			t.Errorf("%q: %v", typed, f)
		}
	}
	none := d.create(t, account.Person{Email: "carl@example.com"})
	if f := fault.Of(d.ConfirmPassword(t.Context(), by(none), none.ID, "")); f == nil {
		t.Error("somebody without a password confirmed with none")
	}
}
