package operator

import (
	"context"
	"iter"
	"net/http"
	"strconv"

	"claviger/sdk/go/internal/rest"
)

// Partners lists all partners, page by page, each with its endpoint health.
func (c *Client) Partners(ctx context.Context, o Order) iter.Seq2[PartnerDetail, error] {
	return rest.All[PartnerDetail](ctx, c.rest, rest.Target(base+"partners", o.query()))
}

// CreatePartner creates a partner. Its secrets are shown only once; they are empty if the same
// request already created the partner.
func (c *Client) CreatePartner(ctx context.Context, p NewPartner, options ...Option) (CreatedPartner, error) {
	return once[CreatedPartner](ctx, c, base+"partners", p, options)
}

// Partner reads a partner with its endpoint health.
func (c *Client) Partner(ctx context.Context, id int64) (PartnerDetail, error) {
	return get[PartnerDetail](ctx, c, partnerPath(id, ""))
}

// ChangePartner changes the fields that are not nil.
func (c *Client) ChangePartner(ctx context.Context, id int64, p PartnerChange) (ChangedPartner, error) {
	return call[ChangedPartner](ctx, c, http.MethodPatch, partnerPath(id, ""), p)
}

// DeletePartner deletes a partner for which no license was ever sold.
func (c *Client) DeletePartner(ctx context.Context, id int64) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, partnerPath(id, ""), nil)
	return err
}

// PausePartner stops sales and deliveries of a partner.
func (c *Client) PausePartner(ctx context.Context, id int64, reason string) (Partner, error) {
	return post[Partner](ctx, c, partnerPath(id, "/pause"), Pause{Reason: reason})
}

// ResumePartner ends a pause.
func (c *Client) ResumePartner(ctx context.Context, id int64) (Partner, error) {
	return post[Partner](ctx, c, partnerPath(id, "/resume"), nil)
}

// RotateSecret replaces a secret; the old one works until its overlap ends.
func (c *Client) RotateSecret(ctx context.Context, id int64, o RotationOrder) (Rotation, error) {
	return post[Rotation](ctx, c, partnerPath(id, "/rotate"), o)
}

// SwitchSecret ends the overlap of a rotated secret immediately.
func (c *Client) SwitchSecret(ctx context.Context, id int64, o SwitchOrder) error {
	_, err := post[struct{}](ctx, c, partnerPath(id, "/switch"), o)
	return err
}

// Contacts lists the people who are notified when deliveries to a partner fail.
func (c *Client) Contacts(ctx context.Context, id int64) ([]Contact, error) {
	list, err := get[ContactList](ctx, c, partnerPath(id, "/contacts"))
	return list.Items, err
}

// AddContact adds a contact.
func (c *Client) AddContact(ctx context.Context, id int64, n NewContact) (Contact, error) {
	return post[Contact](ctx, c, partnerPath(id, "/contacts"), n)
}

// DeleteContact removes a contact.
func (c *Client) DeleteContact(ctx context.Context, id, contactID int64) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, contactPath(id, contactID), nil)
	return err
}

// TestContact sends a test email to a contact.
func (c *Client) TestContact(ctx context.Context, id, contactID int64) (Contact, error) {
	return post[Contact](ctx, c, contactPath(id, contactID)+"/test", nil)
}

func contactPath(id, contactID int64) string {
	return partnerPath(id, "/contacts/"+strconv.FormatInt(contactID, 10))
}

// AddMember adds a member to a partner's team.
func (c *Client) AddMember(ctx context.Context, id int64, m NewMember) (Member, error) {
	return post[Member](ctx, c, partnerPath(id, "/members"), m)
}

// Product reads the product page of a partner's application.
func (c *Client) Product(ctx context.Context, partnerID int64) (Product, error) {
	return get[Product](ctx, c, partnerPath(partnerID, "/product"))
}

// ChangeProduct changes the fields that are not nil. The icon is a picture in base64.
func (c *Client) ChangeProduct(ctx context.Context, partnerID int64, p ProductChange) (Product, error) {
	return call[Product](ctx, c, http.MethodPatch, partnerPath(partnerID, "/product"), p)
}

// Plans lists the plans of a partner, in the order in which buyers see them.
func (c *Client) Plans(ctx context.Context, partnerID int64) ([]Plan, error) {
	list, err := get[PlanList](ctx, c, partnerPath(partnerID, "/plans"))
	return list.Items, err
}

// Plan reads a plan.
func (c *Client) Plan(ctx context.Context, partnerID int64, tier int) (Plan, error) {
	return get[Plan](ctx, c, planPath(partnerID, tier))
}

// PutPlan creates or replaces a plan. Texts that are nil stay unchanged.
func (c *Client) PutPlan(ctx context.Context, partnerID int64, tier int, p NewPlan) (Plan, error) {
	return call[Plan](ctx, c, http.MethodPut, planPath(partnerID, tier), p)
}

// DeletePlan ends the sale of a plan.
func (c *Client) DeletePlan(ctx context.Context, partnerID int64, tier int) error {
	_, err := call[struct{}](ctx, c, http.MethodDelete, planPath(partnerID, tier), nil)
	return err
}

// RedeliverSpan sends the events of a period to a partner again.
func (c *Client) RedeliverSpan(ctx context.Context, partnerID int64, s RedeliverySpan) (SpanRedelivery, error) {
	return post[SpanRedelivery](ctx, c, partnerPath(partnerID, "/redeliver"), s)
}

// LastRedelivery returns the progress of the last redelivery of a period.
func (c *Client) LastRedelivery(ctx context.Context, partnerID int64) (SpanRedelivery, error) {
	return get[SpanRedelivery](ctx, c, partnerPath(partnerID, "/redeliver"))
}
