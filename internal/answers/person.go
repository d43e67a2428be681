package answers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/money"
	"claviger/internal/oauth"
	"claviger/internal/partner"
	"claviger/internal/payment"
	"claviger/internal/wire"
)

// dataFile has the stored data about a person, for download. The page of the account lists its
// omissions. It contains no credentials.
type dataFile struct {
	MadeAt      wire.Time        `json:"made_at"`
	Account     dataAccount      `json:"account"`
	Licenses    []dataLicense    `json:"licenses"`
	Memberships []dataMembership `json:"memberships"`
	Orders      []dataOrder      `json:"orders"`

	RefundRequests []dataRefundRequest `json:"refund_requests"`
	Disputes       []dataDispute       `json:"disputes"`
}

type dataAccount struct {
	Email        string    `json:"email"`
	Name         string    `json:"name"`
	Reference    string    `json:"reference,omitempty"`
	Operator     bool      `json:"operator,omitempty"`
	HasPassword  bool      `json:"has_password"`
	SecondFactor bool      `json:"second_factor"`
	ConfirmedAt  wire.Time `json:"email_confirmed_at,omitzero"`
	CreatedAt    wire.Time `json:"created_at"`
	UpdatedAt    wire.Time `json:"updated_at"`
}

type dataLicense struct {
	Application string        `json:"application"`
	Plan        string        `json:"plan"`
	Tier        int           `json:"tier"`
	Key         string        `json:"license_key"`
	Status      string        `json:"status"`
	CreatedAt   wire.Time     `json:"created_at"`
	UpdatedAt   wire.Time     `json:"updated_at"`
	ConnectedAt wire.Time     `json:"application_may_read_it_since,omitzero"`
	Receipts    []dataReceipt `json:"receipts"`
}

type dataReceipt struct {
	At          wire.Time `json:"at"`
	Kind        string    `json:"kind"`
	Tier        int       `json:"tier"`
	AmountCents int64     `json:"amount_cents"`
	Currency    string    `json:"currency"`
	Amount      string    `json:"amount"` // as printed on its receipt
	Quantity    int       `json:"quantity"`
	ExternalID  string    `json:"external_id"`
	Refunded    bool      `json:"refunded"`
}

type dataMembership struct {
	Application string    `json:"application"`
	Role        string    `json:"role"`
	Since       wire.Time `json:"since"`
}

// dataOrder is something that the person began to buy in the shop.
type dataOrder struct {
	Reference   string    `json:"reference"`
	Item        string    `json:"item"`
	State       string    `json:"state"`
	AmountCents int64     `json:"amount_cents"`
	Currency    string    `json:"currency"`
	CreatedAt   wire.Time `json:"created_at"`
	PaidAt      wire.Time `json:"paid_at,omitzero"`
}

// Person collects the stored data about a person. All services but OAuth and Payments must be set.
type Person struct {
	Accounts *account.Store
	Partners *partner.Store
	Licenses *license.Store
	OAuth    *oauth.Server
	Payments *payment.Store
	Now      func() time.Time
}

// File answers with the data about a person as a file. It is the same for the person and for an
// operator who answers their request.
func (h *Person) File(w http.ResponseWriter, r *http.Request, userID int64, name string) error {
	ctx := r.Context()
	file := dataFile{MadeAt: wire.Time(h.Now())}
	var err error
	if file.Account, err = h.account(ctx, userID); err != nil {
		return err
	}
	if file.Licenses, err = h.licenses(ctx, userID); err != nil {
		return err
	}
	if file.Memberships, err = h.memberships(ctx, userID); err != nil {
		return err
	}
	if file.Orders, err = h.orders(ctx, userID); err != nil {
		return err
	}
	if file.RefundRequests, err = h.refundRequests(ctx, userID); err != nil {
		return err
	}
	if file.Disputes, err = h.disputes(ctx, userID); err != nil {
		return err
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(file); err != nil {
		return fmt.Errorf("encode the data of a user: %w", err)
	}
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	return wire.Raw(w, http.StatusOK, body.Bytes())
}

// FileFor is File for another person's request. It is audited.
func (h *Person) FileFor(w http.ResponseWriter, r *http.Request, by audit.Actor, userID int64) error {
	if err := h.Accounts.NoteDataRead(r.Context(), by, userID); err != nil {
		return err
	}
	return h.File(w, r, userID, fmt.Sprintf("person-%d.json", userID))
}

// orders returns what the person began to buy, newest first.
func (h *Person) orders(ctx context.Context, userID int64) ([]dataOrder, error) {
	list := []dataOrder{}
	if h.Payments == nil {
		return list, nil
	}
	const batch = 500
	for before := int64(0); ; {
		found, err := h.Payments.FindOrders(ctx, payment.FindOrders{Users: []int64{userID}}, before, batch)
		if err != nil {
			return nil, err
		}
		for _, c := range found.Orders {
			list = append(list, dataOrder{
				Reference: c.Ref, Item: c.Item, State: c.Order.String(), AmountCents: c.Amount, Currency: c.Currency,
				CreatedAt: wire.Time(c.CreatedAt), PaidAt: wire.Time(c.PaidAt),
			})
		}
		if before = found.Next; before == 0 {
			return list, nil
		}
	}
}

func (h *Person) account(ctx context.Context, userID int64) (dataAccount, error) {
	d, err := h.Accounts.Data(ctx, userID)
	if err != nil {
		return dataAccount{}, err
	}
	return dataAccount{
		Email: d.Email, Name: d.Name, Reference: d.ExternalID, Operator: d.Operator, HasPassword: d.HasPassword,
		SecondFactor: d.SecondFactor,
		ConfirmedAt:  wire.Time(d.ProvenAt), CreatedAt: wire.Time(d.CreatedAt), UpdatedAt: wire.Time(d.UpdatedAt),
	}, nil
}

// memberships returns the applications that the person is a member of, and the roles.
func (h *Person) memberships(ctx context.Context, userID int64) ([]dataMembership, error) {
	members, err := h.Partners.Memberships(ctx, userID)
	if err != nil {
		return nil, err
	}
	list := make([]dataMembership, len(members))
	for i, m := range members {
		p, err := h.Partners.Get(ctx, m.PartnerID)
		if err != nil {
			return nil, err
		}
		list[i] = dataMembership{Application: p.Name, Role: string(m.Role), Since: wire.Time(m.CreatedAt)}
	}
	return list, nil
}

// licenses returns the person's licenses with their receipts. It reads them one license at a
// time: few people have many, and the file is requested rarely.
func (h *Person) licenses(ctx context.Context, userID int64) ([]dataLicense, error) {
	owned, err := h.Licenses.Owned(ctx, userID)
	if err != nil {
		return nil, err
	}
	since, err := h.connectedSince(ctx, userID)
	if err != nil {
		return nil, err
	}
	list := make([]dataLicense, len(owned))
	for i, l := range owned {
		application, plan, err := h.productNames(ctx, l)
		if err != nil {
			return nil, err
		}
		list[i] = dataLicense{
			Application: application, Plan: plan, Tier: l.Tier, Key: l.Key, Status: l.Status.String(),
			CreatedAt: wire.Time(l.CreatedAt), UpdatedAt: wire.Time(l.UpdatedAt), ConnectedAt: since[l.ID],
		}
		receipts, err := h.Licenses.Receipts(ctx, l.ID, userID)
		if err != nil {
			return nil, err
		}
		list[i].Receipts = make([]dataReceipt, len(receipts))
		for k, c := range receipts {
			list[i].Receipts[k] = dataReceipt{
				At: wire.Time(c.At), Kind: c.Kind.String(), Tier: c.Tier, Currency: c.Currency,
				AmountCents: money.Units(c.AmountCents, c.Currency, c.Hundredths), Amount: amountOf(c),
				Quantity: c.Quantity, ExternalID: c.ExternalID, Refunded: c.Refunded,
			}
		}
	}
	return list, nil
}

// amountOf returns the paid amount as a receipt prints it.
func amountOf(c license.Receipt) string {
	if c.AmountCents == 0 {
		return "Free"
	}
	return money.Printed(c.AmountCents, c.Currency, c.Hundredths)
}

// productNames returns the names of a license's application and plan. A plan that is
// no longer sold is named by its tier.
func (h *Person) productNames(ctx context.Context, l license.License) (application, plan string, err error) {
	p, err := h.Partners.Get(ctx, l.PartnerID)
	if err != nil {
		return "", "", err
	}
	of, err := h.Partners.Plan(ctx, l.PartnerID, l.Tier)
	if fault.Is(err, partner.CodeUnknownPlan) {
		of = partner.Plan{Tier: l.Tier}
		err = nil
	}
	return p.Name, of.DisplayName(), err
}

// connectedSince returns since when licenses may be read by their application, by license id.
func (h *Person) connectedSince(ctx context.Context, userID int64) (map[int64]wire.Time, error) {
	since := make(map[int64]wire.Time)
	if h.OAuth == nil {
		return since, nil
	}
	list, err := h.OAuth.Consents(ctx, userID)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		since[c.License.ID] = wire.Time(c.Since)
	}
	return since, nil
}
