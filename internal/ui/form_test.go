package ui_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

func TestFormErrors(t *testing.T) {
	form := ui.Form{Next: "/account", Fields: []ui.Field{{Name: "email"}, {Name: "password"}}}
	wrong := form.WithError("password", "Enter your password.")
	if form.Failed() || !wrong.Failed() || wrong.Fields[1].Error != "Enter your password." || wrong.Fields[0].Error != "" {
		t.Errorf("%+v became %+v", form, wrong)
	}
	if p := form.WithProblem("Wait a minute."); form.Failed() || !p.Failed() || p.Problem != "Wait a minute." || p.Next != "/account" {
		t.Errorf("%+v became %+v", form, p)
	}
}

// TestRefuseInTheWordsOfAForm: "send" in a fault for a program becomes "write" for a person.
func TestRefuseInTheWordsOfAForm(t *testing.T) {
	for said, want := range map[string]string{
		"is missing or empty; send 1 to 255 characters.":                    "Reason is missing. Write up to 255 characters.",
		"is missing or empty; send an email address such as a@example.com.": "Reason is missing. Write an email address such as a@example.com.",
		"has 300 characters; send 1 to 255.":                                "Reason has 300 characters; write 1 to 255.",
		"must be one line without control characters; remove them.":         "Reason must be one line without control characters; remove them.",
	} {
		form := ui.Form{Fields: []ui.Field{{Name: "reason", Label: "Reason"}}}
		if !form.Refuse(fault.Field("reason", "%s", said)) || form.Fields[0].Error != want {
			t.Errorf("%q is shown as %q, want %q", said, form.Fields[0].Error, want)
		}
	}
}

func TestReadForm(t *testing.T) {
	for name, c := range map[string]struct{ body, code string }{
		"form":       {"name=+Ann+", ""},
		"too large":  {"name=" + strings.Repeat("x", ui.MaxForm), "form_too_large"},
		"no form":    {"name=%zz", "invalid_form"},
		"as long as": {"name=" + strings.Repeat("x", ui.MaxForm-5), ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body = http.MaxBytesReader(httptest.NewRecorder(), r.Body, ui.MaxForm)
		err := ui.ReadForm(r)
		if c.code == "" && err != nil || c.code != "" && !fault.Is(err, c.code) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "form" && ui.FormText(r, "name") != "Ann" {
			t.Errorf("the name is %q", ui.FormText(r, "name"))
		}
	}
}

// from returns a request of a client at an address.
func from(t *testing.T, address string) *http.Request {
	t.Helper()
	ctx, _ := wire.Begin(t.Context(), "req_1", address)
	return httptest.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody)
}

// TestThrottle: passwords and emails are counted separately, and an address in every spelling.
func TestThrottle(t *testing.T) {
	now := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	th := ui.NewThrottle(func() time.Time { return now })
	for range 10 {
		if wait := th.Password(from(t, "192.0.2.1"), "ann@example.com", ""); wait != 0 {
			t.Fatalf("wait %v within the limit", wait)
		}
	}
	if th.Password(from(t, "192.0.2.2"), "ANN@example.com", "") == 0 {
		t.Error("another spelling of the address from another client has a limit of its own")
	}
	if th.Password(from(t, "192.0.2.1"), "ann@example.com", "browser 1") != 0 {
		t.Error("a known browser waits for what others tried")
	}
	if th.OwnPassword(from(t, "192.0.2.1"), 7) != 0 {
		t.Error("a user who is signed in waits for what others tried")
	}
	for i := range 6 {
		if wait := th.Mail(from(t, "192.0.2.1"), "ann@example.com"); (wait == 0) != (i < 5) {
			t.Errorf("email %d: wait %v", i+1, wait)
		}
	}
	now = now.Add(time.Minute)
	if th.Password(from(t, "192.0.2.2"), "ann@example.com", "") != 0 {
		t.Error("the limit holds after a minute")
	}
}

func TestNoThrottle(t *testing.T) {
	var th *ui.Throttle
	r := from(t, "192.0.2.1")
	for range 100 {
		if th.Password(r, "a@b.c", "")+th.OwnPassword(r, 1)+th.Mail(r, "a@b.c") != 0 || th.LinkGuard() != nil {
			t.Fatal("there is a limit")
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for wait, want := range map[time.Duration][2]string{
		time.Second: {"1", "a second"}, 1500 * time.Millisecond: {"2", "2 seconds"}, time.Minute: {"60", "60 seconds"},
	} {
		h := http.Header{}
		if got := ui.RetryAfter(h, wait); got != want[1] || h.Get("Retry-After") != want[0] {
			t.Errorf("%v: %q and %q", wait, got, h.Get("Retry-After"))
		}
	}
}
