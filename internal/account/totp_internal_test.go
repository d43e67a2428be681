package account

import (
	"testing"
	"time"

	"claviger/internal/secret"
)

// TestEnrolmentIsOfItsUser checks that the secret of a page is accepted only from the user it was
// made for, in the same session.
func TestEnrolmentIsOfItsUser(t *testing.T) {
	box, err := secret.NewSealer(make([]byte, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	b := &Store{Sealer: box, Now: time.Now}
	u := User{ID: 1234, SessionEpoch: 56, Email: "ann@example.com"}
	e := b.EnrolTOTP(u)
	if got, err := b.OpenEnrolment(u, e.Sealed); got != e || err != nil {
		t.Errorf("got %+v, %v; want %+v", got, err, e)
	}
	for name, other := range map[string]User{
		"another user":    {ID: 1235, SessionEpoch: 56},
		"another session": {ID: 1234, SessionEpoch: 57},
	} {
		if got, err := b.OpenEnrolment(other, e.Sealed); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestNamesOfUsers checks the forms of a user's id that are stored: in sealed secrets and in
// passkeys.
func TestNamesOfUsers(t *testing.T) {
	if got, want := totpLabel(1234), Sealed().Label("1234"); got != want || got != "totp of user 1234" {
		t.Errorf("a secret is sealed for %q, and sealed again for %q", got, want)
	}
	if got := (holder{User: User{ID: 1234}}).WebAuthnID(); string(got) != "1234" {
		t.Errorf("a passkey has the user %q", got)
	}
}
