package operator

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"claviger/sdk/go/internal/rest"
)

// Today returns the tasks for people of the marketplace.
func (c *Client) Today(ctx context.Context) (Today, error) { return get[Today](ctx, c, base+"today") }

// Outages lists failing endpoints, longest first. state is parked, failing, or "" for both.
func (c *Client) Outages(ctx context.Context, state string) iter.Seq2[Outage, error] {
	return rest.All[Outage](ctx, c.rest, rest.Target(base+"outages", url.Values{"state": {state}}))
}

// TryEndpoint retries a failing endpoint immediately.
func (c *Client) TryEndpoint(ctx context.Context, partnerID int64) (Endpoint, error) {
	return post[Endpoint](ctx, c, partnerPath(partnerID, "/try"), nil)
}

// FailedMails lists failed emails. state is given_up, waiting, or "" for given_up.
func (c *Client) FailedMails(ctx context.Context, state string) iter.Seq2[FailedMail, error] {
	return rest.All[FailedMail](ctx, c.rest, rest.Target(base+"mails", url.Values{"state": {state}}))
}

// SendMail sends a failed email again.
func (c *Client) SendMail(ctx context.Context, id int64) (FailedMail, error) {
	return post[FailedMail](ctx, c, base+"mails/"+strconv.FormatInt(id, 10)+"/send", nil)
}

// DismissMail marks a given-up email as seen.
func (c *Client) DismissMail(ctx context.Context, id int64) (FailedMail, error) {
	return post[FailedMail](ctx, c, base+"mails/"+strconv.FormatInt(id, 10)+"/dismiss", nil)
}

// Jobs lists the last run of each background job.
func (c *Client) Jobs(ctx context.Context) (JobList, error) { return get[JobList](ctx, c, base+"jobs") }

// Tokens lists the operator tokens, without their secrets.
func (c *Client) Tokens(ctx context.Context) (TokenList, error) {
	return get[TokenList](ctx, c, base+"tokens")
}

// RevokeToken ends an operator token.
func (c *Client) RevokeToken(ctx context.Context, id int64) (Token, error) {
	return post[Token](ctx, c, base+"tokens/"+strconv.FormatInt(id, 10)+"/revoke", nil)
}

// Keys lists the keys that sign identity tokens.
func (c *Client) Keys(ctx context.Context) (KeyList, error) { return get[KeyList](ctx, c, base+"keys") }

// RotateKeys activates the next key of an algorithm, or of each if alg is "": a day after its
// publication, or immediately with now.
func (c *Client) RotateKeys(ctx context.Context, alg string, now bool) (KeyList, error) {
	return post[KeyList](ctx, c, base+"keys/rotate", map[string]any{"alg": alg, "now": now})
}

// RevokeKey removes a key that may be compromised; new keys replace it immediately.
func (c *Client) RevokeKey(ctx context.Context, id string) (KeyList, error) {
	return post[KeyList](ctx, c, base+"keys/"+url.PathEscape(id)+"/revoke", nil)
}

// Settings lists the current settings.
func (c *Client) Settings(ctx context.Context) (SettingList, error) {
	return get[SettingList](ctx, c, base+"settings")
}
