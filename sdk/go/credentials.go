package claviger

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"claviger/sdk/go/internal/rest"
)

// Credentials lists your valid secrets, without their values.
func (c *Client) Credentials(ctx context.Context) ([]Credential, error) {
	list, err := get[struct {
		Items []Credential `json:"items"`
	}](ctx, c, "/v2/credentials")
	return list.Items, err
}

// RevokeCredential ends a secret immediately.
func (c *Client) RevokeCredential(ctx context.Context, id int64) error {
	_, err := c.rest.Do(ctx, Request{Method: http.MethodDelete, Path: "/v2/credentials/" + strconv.FormatInt(id, 10)},
		nil)
	return err
}

// Audit lists changes to your application, newest first. limit is the page size; 0: 100.
func (c *Client) Audit(ctx context.Context, limit int) iter.Seq2[AuditEntry, error] {
	return rest.All[AuditEntry](ctx, c.rest, rest.Target("/v2/audit", url.Values{"limit": {rest.Number(limit)}}))
}

// TestContact sends a test email to a contact.
func (c *Client) TestContact(ctx context.Context, id int64) (Contact, error) {
	return send[Contact](ctx, c, http.MethodPost, "/v2/profile/contact/"+strconv.FormatInt(id, 10)+"/test", nil)
}
