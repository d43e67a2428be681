package account_test

import (
	"encoding/base32"
	"regexp"
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

// code returns the one-time code of a secret, skew steps after the harness's time.
func (d *harness) code(t *testing.T, secret string, skew int) string {
	t.Helper()
	return accounttest.Code(t, secret, d.now.Add(time.Duration(skew)*30*time.Second))
}

// enrolled makes a user with a password and one-time codes, and uses the first code. The clock is a
// minute later.
func (d *harness) enrolled(t *testing.T, email string) (u account.User, secret string, codes []string) {
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

// TestTOTPVectors uses the vectors of RFC 6238, appendix B, cut to six digits.
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
	_, err = d.SecondStep(t.Context(), first(after), d.code(t, e.Secret, 0), account.Client{})
	refused(t, "the code that proved the app", err, account.CodeInvalidCode)
	late := d.EnrolTOTP(after)
	if len(e.Secret) != 32 || len(late.Secret) != 32 || late.Secret == e.Secret {
		t.Errorf("secrets are %q and %q", e.Secret, late.Secret)
	}
	d.now = d.now.Add(30 * time.Minute)
	if opened, err := d.OpenEnrolment(after, late.Sealed); err != nil || opened != late {
		t.Errorf("in its last second: %+v, %v", opened, err)
	}
	d.now = d.now.Add(time.Second)
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

// TestCodesAreBounded checks that after ten wrong codes, an account's codes are refused for an
// hour, even right ones. Other accounts are not affected.
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
	for range 12 { // right codes do not count
		d.now = d.now.Add(time.Minute)
		if _, err := d.SecondStep(t.Context(), first(u), d.code(t, secret, 0), account.Client{}); err != nil {
			t.Fatal(err)
		}
	}
}

// recoveryText is a recovery code: 80 random bits, five in each character.
var recoveryText = regexp.MustCompile(`^[a-z2-7]{4}(-[a-z2-7]{4}){3}$`)

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
	for _, code := range fresh {
		if !recoveryText.MatchString(code) {
			t.Errorf("a recovery code is %q", code)
		}
	}
	if !slices.Contains(d.actions(t), "user.recovery_codes user:1") {
		t.Errorf("the audit has %q", d.actions(t))
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

// TestCodesAtOnce checks that one code, sent many times concurrently to several nodes, works once.
func TestCodesAtOnce(t *testing.T) {
	d := open(t)
	u, secret, codes := d.enrolled(t, "ann@example.com")
	for _, typed := range []string{d.code(t, secret, 0), codes[0]} {
		results := make([]error, 8)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() {
				node := &account.Store{DB: d.DB, Now: d.Now, Sealer: d.Sealer}
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
	u = d.setRole(t, u.ID, account.RoleAdmin)
	d.Require = account.RequireAdmins
	_, err := d.RemoveTOTP(t.Context(), by(u), u.ID)
	refused(t, "the last one of an admin", err, account.CodeFactorRequired)
	d.Require = account.RequireNone
	after, err := d.RemoveTOTP(t.Context(), by(u), u.ID)
	if err != nil || after.SecondFactor || after.SessionEpoch == u.SessionEpoch {
		t.Fatalf("%+v, %v", after, err)
	}
	if got, err := d.Get(t.Context(), u.ID); got != after || err != nil {
		t.Errorf("stored is %+v, %v; want %+v", got, err, after)
	}
	for _, typed := range []string{d.code(t, secret, 0), codes[0]} {
		_, err := d.SecondStep(t.Context(), first(after), typed, account.Client{})
		refused(t, "a code afterwards", err, account.CodeInvalidCode)
	}
}

// TestBrokenSecret: a secret of one-time codes that cannot be read lets nobody in. Without
// one, anyone could compute the codes.
func TestBrokenSecret(t *testing.T) {
	d := open(t)
	u, _, _ := d.enrolled(t, "ann@example.com")
	for name, sealed := range map[string]string{
		"sealed for someone else": d.Sealer.Seal("totp of user 99", "GEZDGNBVGY3TQOJQ"),
		"not sealed":              "GEZDGNBVGY3TQOJQ",
		"not a secret":            d.Sealer.Seal("totp of user 1", "1"),
	} {
		d.exec(t, `UPDATE totp_secrets SET sealed = $1, last_step = 0`, sealed)
		for _, secret := range []string{"", "GEZDGNBVGY3TQOJQ"} {
			_, err := d.SecondStep(t.Context(), first(u), d.code(t, secret, 0), account.Client{})
			if err == nil || fault.Of(err) != nil {
				t.Errorf("%s, a code of the secret %q: %v", name, secret, err)
			}
		}
	}
}

// TestRemoveNoTOTP: removing one-time codes that a user does not have changes nothing.
func TestRemoveNoTOTP(t *testing.T) {
	d := open(t)
	u, _ := d.passkey(t, "ann@example.com", 0)
	before := d.everything(t)
	if after, err := d.RemoveTOTP(t.Context(), by(u), u.ID); err != nil || after != u || d.everything(t) != before {
		t.Errorf("%+v, %v, changed to %s", after, err, d.everything(t))
	}
}

// TestFactorsLeft: someone with two factors loses one and keeps the other, with the recovery
// codes, also if the role needs one. Sessions end with each.
func TestFactorsLeft(t *testing.T) {
	for name, remove := range map[string]func(*harness, account.User) (account.User, error){
		"the codes": func(d *harness, u account.User) (account.User, error) {
			return d.RemoveTOTP(t.Context(), by(u), u.ID)
		},
		"the passkey": func(d *harness, u account.User) (account.User, error) {
			return d.RemovePasskey(t.Context(), by(u), u.ID, 1)
		},
	} {
		s := secure(t)
		s.Require = account.RequireOperators
		u := s.setRole(t, s.user.ID, account.RoleViewer)
		after, err := remove(s.harness, u)
		if err != nil || !after.SecondFactor || after.SessionEpoch == u.SessionEpoch {
			t.Errorf("without %s: %+v, %v", name, after, err)
		}
		f, err := s.Factors(t.Context(), u.ID)
		if err != nil || !f.Any() || f.TOTP == (len(f.Passkeys) == 1) || f.RecoveryCodes != 10 {
			t.Errorf("without %s: %+v, %v", name, f, err)
		}
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
	got, err := sqldb.All(t.Context(), d.DB, sqldb.Value[string],
		`SELECT subject || before || after FROM audit_entries WHERE action = 'user.factors_remove'`)
	if want := []string{`user:1{"second_factor":true}{"second_factor":false}`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("audited: %q, %v", got, err)
	}
	err = d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		return errorOf(d.RemoveFactors(t.Context(), tx, operator, 999, d.now))
	})
	refused(t, "the factors of nobody", err, account.CodeUnknownUser)
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
