package account_test

import (
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/prune"
	"claviger/internal/sqldb"
)

// spent sets the count of an address so that the given number of tries is left: hashing a hundred
// passwords takes seconds.
func (d *harness) spent(t *testing.T, email string, left int) {
	t.Helper()
	_, err := d.SignIn(t.Context(), email, "wrong password", account.Client{Known: true})
	if !fault.Is(err, "invalid_credentials") {
		t.Fatalf("the first try: %v", err)
	}
	d.write(t, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(t.Context(), `UPDATE password_tries SET count = $1 WHERE count = 1`, 100-left)
		if n != 1 {
			t.Errorf("%d counts were set", n)
		}
		return err
	})
}

// TestTries checks that after a hundred wrong passwords in an hour all are refused, even the right
// one, for known and unknown addresses.
func TestTries(t *testing.T) {
	for email, right := range map[string]string{"ann@example.com": "", "nobody@example.com": "invalid_credentials"} {
		t.Run(email, func(t *testing.T) {
			d := open(t)
			d.withPassword(t, "ann@example.com", "correct horse")
			d.spent(t, email, 2)
			try := func(typed, want string) {
				t.Helper()
				_, err := d.SignIn(t.Context(), " "+email, typed, account.Client{})
				if want == "" && err != nil || want != "" && !fault.Is(err, want) {
					t.Errorf("%s: %v, want %q", typed, err, want)
				}
			}
			if right == "" {
				for range 3 { // costs no try
					try("correct horse", "")
				}
			}
			try("wrong password", "invalid_credentials")
			try("wrong password", "invalid_credentials")
			try("wrong password", "too_many_tries")
			try("correct horse", "too_many_tries")
			_, err := d.SignIn(t.Context(), email, "correct horse", account.Client{Known: true})
			if f := fault.Of(err); f == nil || f.Kind != fault.Throttled || f.After != time.Hour {
				t.Errorf("refused with %+v", f)
			}
			d.now = d.now.Add(20 * time.Minute)
			_, err = d.SignIn(t.Context(), email, "correct horse", account.Client{})
			if f := fault.Of(err); f == nil || f.After != 40*time.Minute {
				t.Errorf("20 minutes later: %+v", f)
			}
			d.now = d.now.Add(40 * time.Minute)
			try("correct horse", right)
		})
	}
}

// TestTriesOfTheCurrentPassword checks that a signed-in browser has the same number of tries, and
// that strangers cannot use them up.
func TestTriesOfTheCurrentPassword(t *testing.T) {
	d := open(t)
	u := d.withPassword(t, "ann@example.com", "correct horse")
	d.spent(t, "ann@example.com", 0)
	change := func(current string) error {
		_, err := d.ChangePassword(t.Context(), operator, u.ID, current, "battery staple")
		return err
	}
	if err := change("wrong"); !fault.Is(err, "invalid_field") {
		t.Errorf("the first try: %v", err)
	}
	d.write(t, func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE password_tries SET count = 100`)
		return nil
	})
	if err := change("correct horse"); !fault.Is(err, "too_many_tries") {
		t.Errorf("after a hundred: %v", err)
	}
	d.now = d.now.Add(time.Hour)
	if err := change("correct horse"); err != nil {
		t.Errorf("an hour later: %v", err)
	}
}

// TestTriesAtOnce checks that two concurrent callers share the last try.
func TestTriesAtOnce(t *testing.T) {
	d := open(t)
	d.spent(t, "ann@example.com", 1)
	found, held, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	book := *d.Store
	book.Now = func() time.Time { // called after the count is read
		found <- struct{}{}
		return noon
	}
	written := make(chan error, 1)
	go func() {
		written <- d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE password_tries SET count = count`)
			close(held)
			<-release
			return err
		})
	}()
	<-held
	results := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := book.SignIn(t.Context(), "ann@example.com", "wrong password", account.Client{Known: true})
			results <- err
		}()
	}
	<-found
	<-found
	close(release)
	looked := 0
	for range 2 {
		switch err := <-results; {
		case fault.Is(err, "invalid_credentials"):
			looked++
		case !fault.Is(err, "too_many_tries"):
			t.Error(err)
		}
	}
	if err := <-written; looked != 1 || err != nil {
		t.Errorf("%d passwords were looked at, want 1; %v", looked, err)
	}
}

// TestPruneTries checks that only expired counts are removed.
func TestPruneTries(t *testing.T) {
	d := open(t)
	d.spent(t, "ann@example.com", 0)
	for _, c := range []struct {
		after time.Duration
		want  int64
	}{{time.Hour, 0}, {time.Microsecond, 1}, {0, 0}} {
		d.now = d.now.Add(c.after)
		if n, err := prune.Rows(t.Context(), d.DB, d.now, account.Expiring()); n != c.want || err != nil {
			t.Errorf("PruneTries = %d, %v; want %d", n, err, c.want)
		}
	}
}
