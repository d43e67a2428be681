package ui

import (
	"net/http"
	"strconv"
	"time"

	"claviger/internal/plural"
	"claviger/internal/validate"
	"claviger/internal/wire"
)

// Throttle limits password attempts and requested emails. Limits per account count the typed
// address, with or without an account, so they never reveal who has an account.
//
// Passwords and emails are counted separately: someone who locks an account by trying passwords
// cannot also block the emailed link.
type Throttle struct {
	Accounts  *wire.Limiter        // password attempts for one account
	Clients   *wire.NetworkLimiter // password attempts of one client, for any account
	Mailboxes *wire.Limiter        // emails to one address
	Senders   *wire.NetworkLimiter // emails requested by one client

	// Links counts tokens that never belonged to an emailed link, by client address. A valid link
	// always works.
	Links *wire.Guard
}

// NewThrottle returns a throttle with the default limits.
func NewThrottle(now func() time.Time) *Throttle {
	limit := func(n int) *wire.Limiter { return &wire.Limiter{PerMinute: n, Now: now} }
	return &Throttle{
		Accounts: limit(10), Clients: wire.NewNetworkLimiter(30, now),
		Mailboxes: limit(5), Senders: wire.NewNetworkLimiter(20, now), Links: &wire.Guard{Failures: limit(20)},
	}
}

// Password counts one password attempt for the account of email. It returns the time to wait if
// there were too many. A known browser of the account has its own count: attempts by others, even
// from the same network, do not lock it out.
func (t *Throttle) Password(r *http.Request, email, browser string) time.Duration {
	switch {
	case t == nil:
		return 0
	case browser != "":
		return count(r, nil, t.Accounts, browser)
	}
	return count(r, t.Clients, t.Accounts, mailbox(email))
}

// OwnPassword counts one password attempt of a signed-in user. It is separate from the addresses
// that anyone may type, which could otherwise lock the user out.
func (t *Throttle) OwnPassword(r *http.Request, userID int64) time.Duration {
	if t == nil {
		return 0
	}
	return count(r, t.Clients, t.Accounts, "user "+strconv.FormatInt(userID, 10))
}

// Code counts one attempt with a one-time code or a recovery code of a user.
func (t *Throttle) Code(r *http.Request, userID int64) time.Duration {
	if t == nil {
		return 0
	}
	return count(r, t.Clients, t.Accounts, "codes of user "+strconv.FormatInt(userID, 10))
}

// Passkey counts one attempt to sign in by passkey, for any user.
func (t *Throttle) Passkey(r *http.Request) time.Duration {
	if t == nil {
		return 0
	}
	if q := t.Clients.Take(r); !q.OK {
		return max(q.After, time.Second)
	}
	return 0
}

// LinkGuard returns the guard of emailed links. Without a throttle it is nil, which allows
// everything.
func (t *Throttle) LinkGuard() *wire.Guard {
	if t == nil {
		return nil
	}
	return t.Links
}

// Mail counts one requested email. It returns the time to wait if there were too many.
func (t *Throttle) Mail(r *http.Request, email string) time.Duration {
	if t == nil {
		return 0
	}
	return count(r, t.Senders, t.Mailboxes, mailbox(email))
}

// count counts one call with both limiters. The client's limiter comes first: a client that must
// wait uses none of the account's budget.
func count(r *http.Request, clients *wire.NetworkLimiter, accounts *wire.Limiter, account string) time.Duration {
	if q := clients.Take(r); !q.OK {
		return max(q.After, time.Second)
	}
	if q := accounts.Take(account); !q.OK {
		return max(q.After, time.Second)
	}
	return 0
}

// mailbox returns the key for counting an address in any spelling. Keys of users and browsers never
// start like this.
func mailbox(email string) string {
	const longest = 254 // bytes of the longest valid address
	return "mail " + validate.EmailKey(email[:min(len(email), longest)])
}

// RetryAfter sets the header Retry-After and returns the wait in words.
func RetryAfter(h http.Header, wait time.Duration) string {
	n := int64((wait + time.Second - 1) / time.Second)
	h.Set("Retry-After", strconv.FormatInt(n, 10))
	if n == 1 {
		return "a second"
	}
	return plural.Of(n, "second")
}
