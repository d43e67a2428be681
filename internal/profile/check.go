package profile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/courier"
	"claviger/internal/fault"
	"claviger/internal/field"
)

// The names of the URLs, as the doors have them.
const (
	webhookField  = "webhook_url"
	redirectField = "redirect_url"
)

// checkTimeout bounds the whole check of a profile's URLs.
const checkTimeout = 30 * time.Second

// Checker calls URLs to see whether they work. Client also says whether http and
// private addresses are acceptable.
type Checker struct {
	Client *courier.Client
}

// Check is one line of the transcript that a failed check shows.
type Check struct {
	URL  string
	Step string // what was done
	OK   bool
	Text string // what came of it, in words
}

// news is what is new about the URLs, read and, if asked for, checked.
type news struct {
	webhook, redirect *string
	checkedAt         time.Time // zero: they were taken as they are
}

// news reads the URLs of a change and, with validate, calls those that are set.
// It is done before the transaction, since partners' servers may be slow.
func (b *Book) news(ctx context.Context, c URLChange, validate bool) (news, error) {
	var n news
	var err error
	if n.webhook, err = b.Check.read(webhookField, c.Webhook); err != nil {
		return n, err
	}
	if n.redirect, err = b.Check.read(redirectField, c.Redirect); err != nil {
		return n, err
	}
	if !validate {
		return n, nil
	}
	if err := b.Check.run(ctx, n); err != nil {
		return n, err
	}
	n.checkedAt = b.Now()
	return n, nil
}

// read checks the form of a URL. An empty one unsets it and is none to check.
func (c Checker) read(name string, value *string) (*string, error) {
	if value == nil || *value == "" {
		return value, nil
	}
	read, err := field.URL(name, *value, c.Client.AllowsPrivate())
	return &read, err
}

// run calls the URLs that are set. All of them are called, so that the
// transcript is whole; the fault names the first that failed.
func (c Checker) run(ctx context.Context, n news) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	var transcript []Check
	var failed *fault.Error
	add := func(name string, check Check) {
		transcript = append(transcript, check)
		if !check.OK && failed == nil {
			failed = fault.New(fault.Unprocessable, "url_check_failed",
				"%s did not pass its check: %s. The saved URL stays in use; put this right and send the new one again.", name, check.Text).On(name)
		}
	}
	if n.redirect != nil && *n.redirect != "" {
		add(redirectField, c.redirect(ctx, *n.redirect))
	}
	if n.webhook != nil && *n.webhook != "" {
		add(webhookField, c.webhook(ctx, *n.webhook))
	}
	if failed == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("check a partner's URLs: %w", ctx.Err()) // Whoever asked has left.
	}
	failed.Detail = transcript
	return failed
}

// redirect calls the redirect URL as it is saved: it must answer 200.
func (c Checker) redirect(ctx context.Context, url string) Check {
	check := Check{URL: url, Step: "GET " + redirectField}
	a, err := c.Client.Send(ctx, courier.Request{Method: "GET", URL: url})
	switch {
	case err != nil:
		check.Text = courier.Explain(err)
	case a.Status >= 300 && a.Status < 400:
		check.Text = fmt.Sprintf("it answered %d, a redirect, and redirects are not followed; save the URL that it leads to", a.Status)
	case a.Status != 200:
		check.Text = fmt.Sprintf("it answered %d to a plain GET and must answer 200", a.Status)
	default:
		check.OK, check.Text = true, "it answered 200"
	}
	return check
}

// webhook calls the webhook URL: any HTTP answer shows that it can be reached.
func (c Checker) webhook(ctx context.Context, url string) Check {
	check := Check{URL: url, Step: "GET " + webhookField}
	a, err := c.Client.Send(ctx, courier.Request{Method: "GET", URL: url})
	if err != nil {
		check.Text = courier.Explain(err)
		return check
	}
	check.OK, check.Text = true, fmt.Sprintf("it can be reached (it answered %d)", a.Status)
	return check
}

// on is the profile with what is new. A URL that stays the same keeps the time
// when it was last seen to work, unless it was checked again.
func (n news) on(p Profile) Profile {
	if n.webhook != nil {
		p.WebhookValidAt = n.validAt(*n.webhook, p.WebhookURL, p.WebhookValidAt)
		p.WebhookURL = *n.webhook
	}
	if n.redirect != nil {
		p.RedirectValidAt = n.validAt(*n.redirect, p.RedirectURL, p.RedirectValidAt)
		if *n.redirect != p.RedirectURL {
			p.RedirectEpoch++
		}
		p.RedirectURL = *n.redirect
	}
	return p
}

func (n news) validAt(url, old string, oldAt time.Time) time.Time {
	switch {
	case url == "":
		return time.Time{}
	case url == old && n.checkedAt.IsZero():
		return oldAt
	}
	return n.checkedAt
}
