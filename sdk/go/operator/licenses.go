package operator

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"claviger/sdk/go/internal/rest"
)

// CreatePurchase sells licenses.
func (c *Client) CreatePurchase(ctx context.Context, p NewPurchase, options ...Option) (Sale, error) {
	return once[Sale](ctx, c, base+"purchases", p, options)
}

// PurchaseFilter narrows a list of purchases. Zero fields are ignored.
type PurchaseFilter struct {
	PartnerID  int64
	ExternalID string
	Order
}

// Purchases lists all purchases, page by page.
func (c *Client) Purchases(ctx context.Context, f PurchaseFilter) iter.Seq2[Purchase, error] {
	q := f.query()
	q.Set("partner_id", rest.Number(f.PartnerID))
	q.Set("external_id", f.ExternalID)
	return rest.All[Purchase](ctx, c.rest, rest.Target(base+"purchases", q))
}

// CreateRefund refunds a license, or a purchase with all its licenses.
func (c *Client) CreateRefund(ctx context.Context, r NewRefund, options ...Option) (RefundOutcome, error) {
	return once[RefundOutcome](ctx, c, base+"refunds", r, options)
}

// ReverseRefund undoes a refund.
func (c *Client) ReverseRefund(ctx context.Context, id int64) (Refunded, error) {
	return post[Refunded](ctx, c, base+"refunds/"+strconv.FormatInt(id, 10)+"/reverse", nil)
}

// LicenseSearch narrows a search for licenses. Zero fields are ignored.
type LicenseSearch struct {
	LicenseKey string
	Email      string
	ExternalID string
	PartnerID  int64
	Status     Status
	Order
}

// Licenses lists all licenses, page by page.
func (c *Client) Licenses(ctx context.Context, s LicenseSearch) iter.Seq2[OperatorLicense, error] {
	q := s.query()
	for name, value := range map[string]string{
		"license_key": s.LicenseKey, "email": s.Email, "external_id": s.ExternalID,
		"partner_id": rest.Number(s.PartnerID), "status": string(s.Status),
	} {
		q.Set(name, value)
	}
	return rest.All[OperatorLicense](ctx, c.rest, rest.Target(base+"licenses", q))
}

// License reads a license.
func (c *Client) License(ctx context.Context, key string) (OperatorLicense, error) {
	return get[OperatorLicense](ctx, c, licensePath(key, ""))
}

// Explain returns why a license has its status and tier.
func (c *Client) Explain(ctx context.Context, key string) (Explanation, error) {
	return get[Explanation](ctx, c, licensePath(key, "/explain"))
}

// LicenseEvents lists the events of a license as its partner reads them.
func (c *Client) LicenseEvents(ctx context.Context, key string, o Order) iter.Seq2[LicenseEvent, error] {
	return rest.All[LicenseEvent](ctx, c.rest, rest.Target(licensePath(key, "/events"), o.query()))
}

// WebhookResponses lists the delivery attempts of a license's events.
func (c *Client) WebhookResponses(ctx context.Context, key string, o Order) iter.Seq2[WebhookResponse, error] {
	return rest.All[WebhookResponse](ctx, c.rest, rest.Target(licensePath(key, "/webhook-responses"), o.query()))
}

// Hold deactivates a license until it is reinstated. An empty reason is "held".
func (c *Client) Hold(ctx context.Context, key, reason string) (OperatorLicense, error) {
	var o HoldOrder
	if reason != "" {
		o.Reason = &reason
	}
	return post[OperatorLicense](ctx, c, licensePath(key, "/hold"), o)
}

// Reinstate ends a hold.
func (c *Client) Reinstate(ctx context.Context, key string) (OperatorLicense, error) {
	return post[OperatorLicense](ctx, c, licensePath(key, "/reinstate"), nil)
}

// Release disconnects a license from its application.
func (c *Client) Release(ctx context.Context, key string) (OperatorLicense, error) {
	return post[OperatorLicense](ctx, c, licensePath(key, "/release"), nil)
}

// Activate connects a license for its owner, or for the person given.
func (c *Client) Activate(ctx context.Context, key string, who *Person) (OperatorLicense, error) {
	return post[OperatorLicense](ctx, c, licensePath(key, "/activate"), Activation{User: who})
}

// Transfer gives a license to another owner.
func (c *Client) Transfer(ctx context.Context, key string, to Person) (OperatorLicense, error) {
	return post[OperatorLicense](ctx, c, licensePath(key, "/transfer"), TransferOrder{User: to})
}

// ChangePlan sells another plan for a license.
func (c *Client) ChangePlan(ctx context.Context, key string, p PlanChange, options ...Option) (OperatorLicense, error) {
	return once[OperatorLicense](ctx, c, licensePath(key, "/plan"), p, options)
}

// Events reads up to 100 events of all partners after an event id; 0 is before the first. No event
// with a smaller id appears later.
func (c *Client) Events(ctx context.Context, after int64) ([]Event, error) {
	list, err := get[EventList](ctx, c, base+"events?after="+strconv.FormatInt(after, 10))
	return list.Items, err
}

// Redeliver sends the webhook of an event again.
func (c *Client) Redeliver(ctx context.Context, eventID int64) (Redelivery, error) {
	return post[Redelivery](ctx, c, base+"events/"+strconv.FormatInt(eventID, 10)+"/redeliver", nil)
}

// AuditFilter narrows the audit log. Zero fields are ignored.
type AuditFilter struct {
	Subject, Action, Actor string
	From, To               string // RFC 3339
	Order
}

// Audit lists actions with their actors, page by page.
func (c *Client) Audit(ctx context.Context, f AuditFilter) iter.Seq2[AuditEntry, error] {
	q := f.query()
	for name, value := range map[string]string{
		"subject": f.Subject, "action": f.Action, "actor": f.Actor, "from": f.From, "to": f.To,
	} {
		q.Set(name, value)
	}
	return rest.All[AuditEntry](ctx, c.rest, rest.Target(base+"audit", q))
}

// Stats counts partners, licenses, events and deliveries.
func (c *Client) Stats(ctx context.Context) (Stats, error) { return get[Stats](ctx, c, base+"stats") }

// UserFilter narrows a list of users. Zero fields are ignored.
type UserFilter struct {
	Email, ExternalID string
	Order
}

// Users lists all users, page by page.
func (c *Client) Users(ctx context.Context, f UserFilter) iter.Seq2[User, error] {
	q := f.query()
	for name, values := range (url.Values{"email": {f.Email}, "external_id": {f.ExternalID}}) {
		q[name] = values
	}
	return rest.All[User](ctx, c.rest, rest.Target(base+"users", q))
}

// CreateUser creates a user, or returns the one with that address.
func (c *Client) CreateUser(ctx context.Context, p Person) (User, error) {
	return post[User](ctx, c, base+"users", p)
}

// User reads a user.
func (c *Client) User(ctx context.Context, id int64) (User, error) {
	return get[User](ctx, c, userPath(id, ""))
}

// SetUserEmail gives a buyer another email address, which the buyer has to prove by a mailed link.
func (c *Client) SetUserEmail(ctx context.Context, id int64, email string) (User, error) {
	return call[User](ctx, c, "PATCH", userPath(id, ""), UserChange{Email: email})
}

// MergeUser gives everything of a buyer to another one. It cannot be undone.
func (c *Client) MergeUser(ctx context.Context, id, into int64) (User, error) {
	return call[User](ctx, c, "POST", userPath(id, "/merge"), UserMerge{Into: into})
}

// EraseUser deletes all personal data of a user. It cannot be undone.
func (c *Client) EraseUser(ctx context.Context, id int64) (User, error) {
	return call[User](ctx, c, "DELETE", userPath(id, ""), nil)
}

// UserSessions lists the sessions of a user, last used first.
func (c *Client) UserSessions(ctx context.Context, userID int64) ([]UserSession, error) {
	list, err := get[UserSessionList](ctx, c, userPath(userID, "/sessions"))
	return list.Items, err
}

// EndUserSession signs a user out in one browser.
func (c *Client) EndUserSession(ctx context.Context, userID int64, sessionID string) error {
	_, err := call[struct{}](ctx, c, "DELETE", userPath(userID, "/sessions/"+url.PathEscape(sessionID)), nil)
	return err
}

// EndUserSessions signs a user out everywhere.
func (c *Client) EndUserSessions(ctx context.Context, userID int64) error {
	_, err := call[struct{}](ctx, c, "DELETE", userPath(userID, "/sessions"), nil)
	return err
}

// SignInLink creates a link that signs a user in once and leads to a page of the service.
func (c *Client) SignInLink(ctx context.Context, userID int64, next string) (SignInLink, error) {
	var n NewSignInLink
	if next != "" {
		n.Next = &next
	}
	return post[SignInLink](ctx, c, userPath(userID, "/session"), n)
}
