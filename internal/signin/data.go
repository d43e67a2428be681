package signin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/money"
	"claviger/internal/partner"
	"claviger/internal/visitor"
	"claviger/internal/wire"
)

// dataFile has the stored data about a person, for download. The page lists its omissions. It
// contains no credentials.
type dataFile struct {
	MadeAt      wire.Time        `json:"made_at"`
	Account     dataAccount      `json:"account"`
	Licenses    []dataLicense    `json:"licenses"`
	Memberships []dataMembership `json:"memberships"`

	RefundRequests []dataRefundRequest `json:"refund_requests"`
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

// data sends the visitor their stored data, as a file.
func (h *Handler) data(w http.ResponseWriter, r *http.Request, v *visitor.Visitor) error {
	account, err := h.accountData(r, v)
	if err != nil {
		return err
	}
	licenses, err := h.licenseData(r, v)
	if err != nil {
		return err
	}
	memberships, err := h.membershipData(r, v)
	if err != nil {
		return err
	}
	requests, err := h.refundRequestData(r, v)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(dataFile{
		MadeAt: wire.Time(h.Now()), Account: account, Licenses: licenses, Memberships: memberships,
		RefundRequests: requests,
	}); err != nil {
		return fmt.Errorf("encode the data of a user: %w", err)
	}
	w.Header().Set("Content-Disposition", `attachment; filename="my-data.json"`)
	return wire.Raw(w, http.StatusOK, body.Bytes())
}

func (h *Handler) accountData(r *http.Request, v *visitor.Visitor) (dataAccount, error) {
	d, err := h.Accounts.Data(r.Context(), v.User.ID)
	if err != nil {
		return dataAccount{}, err
	}
	return dataAccount{
		Email: d.Email, Name: d.Name, Reference: d.ExternalID, Operator: d.Operator, HasPassword: d.HasPassword,
		SecondFactor: d.SecondFactor,
		ConfirmedAt:  wire.Time(d.ProvenAt), CreatedAt: wire.Time(d.CreatedAt), UpdatedAt: wire.Time(d.UpdatedAt),
	}, nil
}

// membershipData returns the applications that the visitor is a member of, and the roles.
func (h *Handler) membershipData(r *http.Request, v *visitor.Visitor) ([]dataMembership, error) {
	members, err := h.Partners.Memberships(r.Context(), v.User.ID)
	if err != nil {
		return nil, err
	}
	list := make([]dataMembership, len(members))
	for i, m := range members {
		p, err := h.Partners.Get(r.Context(), m.PartnerID)
		if err != nil {
			return nil, err
		}
		list[i] = dataMembership{Application: p.Name, Role: string(m.Role), Since: wire.Time(m.CreatedAt)}
	}
	return list, nil
}

// licenseData returns the visitor's licenses with their receipts. It reads them one license at a
// time: few people have many, and the file is requested rarely.
func (h *Handler) licenseData(r *http.Request, v *visitor.Visitor) ([]dataLicense, error) {
	owned, err := h.Licenses.Owned(r.Context(), v.User.ID)
	if err != nil {
		return nil, err
	}
	since, err := h.connectedSince(r, v)
	if err != nil {
		return nil, err
	}
	list := make([]dataLicense, len(owned))
	for i, l := range owned {
		application, plan, err := h.productNames(r, l)
		if err != nil {
			return nil, err
		}
		list[i] = dataLicense{
			Application: application, Plan: plan, Tier: l.Tier, Key: l.Key, Status: l.Status.String(),
			CreatedAt: wire.Time(l.CreatedAt), UpdatedAt: wire.Time(l.UpdatedAt), ConnectedAt: since[l.ID],
		}
		receipts, err := h.Licenses.Receipts(r.Context(), l.ID, v.User.ID)
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
func (h *Handler) productNames(r *http.Request, l license.License) (application, plan string, err error) {
	p, err := h.Partners.Get(r.Context(), l.PartnerID)
	if err != nil {
		return "", "", err
	}
	of, err := h.Partners.Plan(r.Context(), l.PartnerID, l.Tier)
	if fault.Is(err, partner.CodeUnknownPlan) {
		of = partner.Plan{Tier: l.Tier}
		err = nil
	}
	return p.Name, of.DisplayName(), err
}

// connectedSince returns since when licenses may be read by their application, by license id.
func (h *Handler) connectedSince(r *http.Request, v *visitor.Visitor) (map[int64]wire.Time, error) {
	since := make(map[int64]wire.Time)
	if h.OAuth == nil {
		return since, nil
	}
	list, err := h.OAuth.Consents(r.Context(), v.User.ID)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		since[c.License.ID] = wire.Time(c.Since)
	}
	return since, nil
}
