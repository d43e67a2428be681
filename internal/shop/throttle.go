package shop

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"claviger/internal/validate"
	"claviger/internal/wire"
)

// Throttle bounds how often passwords are tried and mails are asked for. What is
// counted per account is counted under the address that was typed, whether
// anybody has it or not, so that the bounds tell nobody who has an account.
//
// Tries and mails are counted apart: somebody who tries another's password
// until the account is closed for a while has not closed the mailed link.
type Throttle struct {
	Accounts  *wire.Limiter        // tries of one account's password
	Clients   *wire.NetworkLimiter // tries by one client, of whatever account
	Mailboxes *wire.Limiter        // mails to one address
	Senders   *wire.NetworkLimiter // mails asked for by one client

	// Links is about tokens of mailed links that never were one, by client address.
	// A link that works is served whatever else came from there.
	Links *wire.Guard
}

// NewThrottle is the throttle with the usual bounds.
func NewThrottle(now func() time.Time) *Throttle {
	limit := func(n int) *wire.Limiter { return &wire.Limiter{PerMinute: n, Now: now} }
	return &Throttle{
		Accounts: limit(10), Clients: wire.NewNetworkLimiter(30, now),
		Mailboxes: limit(5), Senders: wire.NewNetworkLimiter(20, now), Links: &wire.Guard{Failures: limit(20)},
	}
}

// try counts a try of the password of the account that email names. It returns
// how long to wait when there were too many. A browser that is known for the
// account, by that name, is counted by itself: what others try, from its own
// network too, does not close the account to it.
func (t *Throttle) try(r *http.Request, email, browser string) time.Duration {
	switch {
	case t == nil:
		return 0
	case browser != "":
		return take(r, nil, t.Accounts, browser)
	}
	return take(r, t.Clients, t.Accounts, mailbox(email))
}

// tryOwn counts a try of the password of a user who is signed in: apart from what
// anybody types as an address, which could otherwise close it to them.
func (t *Throttle) tryOwn(r *http.Request, userID int64) time.Duration {
	if t == nil {
		return 0
	}
	return take(r, t.Clients, t.Accounts, "user "+strconv.FormatInt(userID, 10))
}

// links is the guard of mailed links; nil, which guards nothing, without a throttle.
func (t *Throttle) links() *wire.Guard {
	if t == nil {
		return nil
	}
	return t.Links
}

// mail counts a mail that is asked for. It returns how long to wait when there
// were too many.
func (t *Throttle) mail(r *http.Request, email string) time.Duration {
	if t == nil {
		return 0
	}
	return take(r, t.Senders, t.Mailboxes, mailbox(email))
}

// take counts a call with both limiters. The client's is asked first: a client
// who is made to wait uses up nothing of the account.
func take(r *http.Request, clients *wire.NetworkLimiter, accounts *wire.Limiter, account string) time.Duration {
	if q := clients.Take(r); !q.OK {
		return max(q.After, time.Second)
	}
	if q := accounts.Take(account); !q.OK {
		return max(q.After, time.Second)
	}
	return 0
}

// mailbox is what an address is counted under, whatever was typed for one: no user
// is counted under a name that begins like this.
func mailbox(email string) string {
	const longest = 254 // of an address that exists
	return "mail " + validate.EmailKey(email[:min(len(email), longest)])
}

// retryAfter says in the header how long to wait, and returns it in words.
func retryAfter(h http.Header, wait time.Duration) string {
	n := int64((wait + time.Second - 1) / time.Second)
	h.Set("Retry-After", strconv.FormatInt(n, 10))
	if n == 1 {
		return "a second"
	}
	return fmt.Sprintf("%d seconds", n)
}
