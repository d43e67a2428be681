package devserver_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"claviger/internal/devserver"
	"claviger/internal/e2e/browser"
	"claviger/internal/sqldb/sqldbtest"
)

// buy signs the buyer in and presses Buy, which leads to the payment page.
func (w *harness) buy(t *testing.T) answer {
	t.Helper()
	w.submit(t, "/sign-in", url.Values{"email": {w.Buyer.Email}, "password": {w.Buyer.Password}}).has(t, 200)
	a := w.submit(t, "/products/1/buy", url.Values{"tier": {"1"}})
	a.has(t, 200, "This page stands in for Stripe. No money moves", "Sample App, ", ">Pay<", "Pay later", "Fail")
	if !strings.HasPrefix(a.url.Path, "/dev/stripe/pay/cs_test_") {
		t.Fatalf("Buy leads to %s", a.url)
	}
	return a
}

// press presses a button of the fake Stripe.
func (w *harness) press(t *testing.T, path, act string) answer {
	t.Helper()
	return w.submit(t, path, url.Values{"act": {act}})
}

// acts applies an action to the payment of a pay page.
func (w *harness) acts(t *testing.T, pay answer, act string) {
	t.Helper()
	w.press(t, strings.Replace(pay.url.Path, "/pay/", "/payments/", 1), act).has(t, 200, "Test payments")
}

// waits loads a page until it contains the text.
func (w *harness) waits(t *testing.T, path, text string) string {
	t.Helper()
	for look := time.NewTicker(10 * time.Millisecond); ; <-look.C {
		if page := w.open(t, path).text; strings.Contains(page, text) {
			return page
		}
	}
}

// status returns the status of the only sold license, or "".
func (w *harness) status(t *testing.T) (status string, held bool) {
	t.Helper()
	var got struct {
		Items []struct{ Status, Held string }
	}
	w.ask(t, w.OperatorToken, "GET", "/operator/v1/licenses", "", &got)
	if len(got.Items) == 0 {
		return "", false
	}
	if len(got.Items) > 1 {
		t.Errorf("%d licenses were sold", len(got.Items))
	}
	return got.Items[0].Status, got.Items[0].Held != ""
}

// becomes waits until the license has the status.
func (w *harness) becomes(t *testing.T, status string, held bool) {
	t.Helper()
	for look := time.NewTicker(10 * time.Millisecond); ; <-look.C {
		if s, h := w.status(t); s == status && h == held {
			return
		}
	}
}

// TestPay: Buy and Pay give a license; a declined card leaves the page open.
func TestPay(t *testing.T) {
	w := run(t)
	pay := w.buy(t)
	w.press(t, pay.url.Path, "fail").has(t, 200, "The card was declined", ">Pay<")
	a := w.press(t, pay.url.Path, "pay")
	a.has(t, 200, "is ready")
	if !strings.HasSuffix(a.url.Path, "/consent") {
		t.Errorf("Pay leads to %s", a.url)
	}
	w.waits(t, "/dev/stripe/", "answered 200")
	w.open(t, pay.url.Path).has(t, 200, "nothing to pay here any more", "Paid")
	w.press(t, pay.url.Path, "pay").has(t, 409, "no longer allows that")
	w.open(t, "/dev/stripe/pay/cs_test_999999").has(t, 404, "There is no such payment here")
	w.press(t, "/dev/stripe/payments/cs_test_999999", "refund").has(t, 404, "There is no such payment here")
	if s, _ := w.status(t); s != "inactive" {
		t.Errorf("the license is %q", s)
	}
}

// TestPayLater: the bank decides days later whether there is a license.
func TestPayLater(t *testing.T) {
	for act, want := range map[string]string{"bank-pays": "is ready", "bank-refuses": "Nothing was charged"} {
		t.Run(act, func(t *testing.T) {
			w := run(t)
			pay := w.buy(t)
			a := w.press(t, pay.url.Path, "later")
			a.has(t, 200, "waiting for your bank")
			w.acts(t, pay, act)
			w.waits(t, a.url.Path, want)
		})
	}
}

// TestDisputes: the license follows the state of the payment.
func TestDisputes(t *testing.T) {
	for _, c := range []struct {
		name   string
		acts   []string
		status string
		held   bool
	}{
		{"a refund", []string{"refund"}, "deactivated", false},
		{"a refund of a part", []string{"refund-part"}, "inactive", false},
		{"a refund in vain", []string{"refund-fails"}, "inactive", false},
		{"an inquiry", []string{"inquiry"}, "inactive", false},
		{"a dispute", []string{"dispute"}, "deactivated", true},
		{"a dispute that is won", []string{"dispute", "win"}, "inactive", false},
		{"a dispute that is lost", []string{"dispute", "lose"}, "deactivated", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := run(t)
			pay := w.buy(t)
			w.press(t, pay.url.Path, "pay").has(t, 200, "is ready")
			for _, act := range c.acts {
				w.acts(t, pay, act)
			}
			w.becomes(t, c.status, c.held)
			w.press(t, strings.Replace(pay.url.Path, "/pay/", "/payments/", 1), "bank-pays").has(t, 409)
		})
	}
}

// TestWebhooksGoWrong: with lost, repeated or reordered webhooks, one license is sold.
func TestWebhooksGoWrong(t *testing.T) {
	result := regexp.MustCompile(`<code>([a-z_.]+)</code></td>\s*<td data-label="Result">([a-z0-9 ]+)</td>`)
	for _, c := range []struct{ wrong, want string }{
		{"lost", "checkout.session.async_payment_succeeded lost, checkout.session.completed lost"},
		{"doubled", "checkout.session.async_payment_succeeded answered 200, checkout.session.async_payment_succeeded answered 200, " +
			"checkout.session.completed answered 200, checkout.session.completed answered 200"},
		{"reordered", "checkout.session.completed answered 200, checkout.session.async_payment_succeeded answered 200"},
	} {
		t.Run(c.wrong, func(t *testing.T) {
			w := run(t)
			w.submit(t, "/dev/stripe/webhooks", url.Values{c.wrong: {"on"}}).has(t, 200, "checked")
			pay := w.buy(t)
			a := w.press(t, pay.url.Path, "later")
			a.has(t, 200, "waiting for your bank")
			w.acts(t, pay, "bank-pays")
			w.waits(t, a.url.Path, "is ready")
			want := strings.Split(c.want, ", ")
			for look := time.NewTicker(10 * time.Millisecond); ; <-look.C {
				got := result.FindAllStringSubmatch(w.open(t, "/dev/stripe/").text, -1)
				if len(got) < len(want) {
					continue
				}
				for i, m := range got {
					if i >= len(want) || m[1]+" "+m[2] != want[i] {
						t.Errorf("webhook %d from the last: %s %s, want of all %v", i, m[1], m[2], want)
					}
				}
				break
			}
			if s, _ := w.status(t); s != "inactive" {
				t.Errorf("the license is %q", s)
			}
		})
	}
}

// TestHeldWebhook: a held webhook is released when no next one will come.
func TestHeldWebhook(t *testing.T) {
	w := run(t)
	w.submit(t, "/dev/stripe/webhooks", url.Values{"reordered": {"on"}}).has(t, 200)
	w.press(t, w.buy(t).url.Path, "pay").has(t, 200)
	w.open(t, "/dev/stripe/").has(t, 200, "One webhook is held back")
	w.submit(t, "/dev/stripe/webhooks", nil).has(t, 200)
	if page := w.waits(t, "/dev/stripe/", "answered 200"); strings.Contains(page, "held back") {
		t.Error("it is still held back")
	}
}

// TestPaymentsSurvive: an open payment can be completed after a restart.
func TestPaymentsSurvive(t *testing.T) {
	db := sqldbtest.URL(t)
	here := func(c *devserver.Config) { c.App.DB = db }
	var path string
	t.Run("before", func(t *testing.T) { path = run(t, here).buy(t).url.Path })
	w := run(t, here)
	if again := w.buy(t).url.Path; again != path {
		t.Errorf("Buy leads to %s, before the restart to %s", again, path)
	}
	w.press(t, path, "pay").has(t, 200, "is ready")
}

// TestStandInIsOurs: pages of other sites cannot pay, and a Stripe account needs no fake.
func TestStandInIsOurs(t *testing.T) {
	w := run(t)
	pay := w.buy(t)
	for _, path := range []string{pay.url.Path, "/dev/stripe/webhooks", strings.Replace(pay.url.Path, "/pay/", "/payments/", 1)} {
		a := w.send(t, "POST", path, "application/x-www-form-urlencoded", "act=pay", http.Header{"Sec-Fetch-Site": {"cross-site"}})
		a.has(t, 403, "sent from another website")
	}
	if w.PaymentsURL != w.BaseURL+"/dev/stripe/" {
		t.Errorf("payments are at %q", w.PaymentsURL)
	}
	own := run(t, func(c *devserver.Config) {
		c.App.Stripe.Key, c.App.Stripe.WebhookSecrets = "sk_test_mine", []string{"whsec_mine"}
		c.App.Stripe.URL = "http://127.0.0.1:1" // never called
	})
	own.open(t, "/dev/stripe/").has(t, 404)
	if own.PaymentsURL != "" {
		t.Errorf("payments are at %q", own.PaymentsURL)
	}
}

// TestPayPages checks the fake's pages in Chromium.
func TestPayPages(t *testing.T) {
	if sqldbtest.Postgres() {
		t.Skip("looked at on SQLite")
	}
	w := run(t)
	pay := w.buy(t)
	tab := browser.Start(t).Tab(t)
	tab.Open(w.BaseURL + pay.url.Path)
	tab.Look("stripe-pay")
	w.press(t, pay.url.Path, "later").has(t, 200)
	w.acts(t, pay, "bank-pays")
	w.acts(t, pay, "dispute")
	w.waits(t, "/dev/stripe/", "charge.dispute.created</code>")
	w.buy(t)
	tab.Open(w.BaseURL + "/dev/stripe/")
	tab.Look("stripe-payments")
	if got := browser.Eval[int](tab, `document.querySelectorAll('[style], style, script:not([src])').length`); got != 0 {
		t.Errorf("%d elements have styles or scripts of their own", got)
	}
}
