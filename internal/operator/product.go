package operator

import (
	"encoding/base64"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/wire"
)

// productJSON is a partner's product texts on the wire.
type productJSON struct {
	PartnerID    int64   `json:"partner_id"`
	Tagline      string  `json:"tagline"`
	Description  string  `json:"description"`
	Website      string  `json:"website"`
	SupportEmail string  `json:"support_email"`
	RefundTerms  string  `json:"refund_terms"`
	RefundDays   int     `json:"refund_days"`
	IconURL      string  `json:"icon_url"`
	UpdatedAt    mayTime `json:"updated_at"`
}

func (o *Operator) productOf(p partner.Product) productJSON {
	out := productJSON{
		PartnerID: p.PartnerID, Tagline: p.Tagline, Description: p.Description, Website: p.Website,
		SupportEmail: p.SupportEmail, RefundTerms: p.RefundTerms, RefundDays: p.RefundDays,
		UpdatedAt: mayTime(p.UpdatedAt),
	}
	if p.Icon != "" {
		out.IconURL = o.PublicURL + p.IconPath()
	}
	return out
}

// productChange changes a product; missing members stay unchanged.
type productChange struct {
	Tagline      *string `json:"tagline"`
	Description  *string `json:"description"`
	Website      *string `json:"website"`
	SupportEmail *string `json:"support_email"`
	RefundTerms  *string `json:"refund_terms"`
	RefundDays   *int    `json:"refund_days"`
	Icon         *string `json:"icon"` // base64
}

// maxProductBody fits the largest icon in base64 with the texts.
const maxProductBody = 1 << 20

func (o *Operator) getProduct(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	p, err := o.Partners.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	product, err := o.Partners.Product(r.Context(), p.ID)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, o.productOf(product))
}

func (o *Operator) changeProduct(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b productChange
	if _, err := (wire.Decoder{
		Limit: maxProductBody, JSONOnly: true, ReadOnly: productJSON{},
	}).Decode(w, r, &b); err != nil {
		return err
	}
	change := partner.ProductChange{
		Tagline:      b.Tagline,
		Description:  b.Description,
		Website:      b.Website,
		SupportEmail: b.SupportEmail,
		RefundTerms:  b.RefundTerms,
		RefundDays:   b.RefundDays,
	}
	if b.Icon != nil {
		icon, err := base64.StdEncoding.DecodeString(*b.Icon)
		if err != nil {
			return fault.Field(
				"icon",
				"is not base64; send the bytes of a PNG, JPEG or WebP in base64 (RFC 4648, section 4).",
			)
		}
		change.Icon = &icon
	}
	product, err := o.Partners.ChangeProduct(r.Context(), actor(t), pathID(r), change)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, o.productOf(product))
}
