package operator

import (
	"cmp"
	"math"
	"net/http"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/wire"
)

// refundJSON is a refund on the wire.
type refundJSON struct {
	ID         int64     `json:"id"`
	PartnerID  int64     `json:"partner_id"`
	ExternalID string    `json:"external_id"`
	Reason     string    `json:"reason"`
	CreatedAt  wire.Time `json:"created_at"`
	ReversedAt mayTime   `json:"reversed_at"`
}

// refundedJSON is a refund on the wire, with the licenses it changed.
type refundedJSON struct {
	Refund   refundJSON                 `json:"refund"`
	Licenses wire.Envelope[licenseJSON] `json:"licenses"`
}

func (o *Operator) refundedOf(f license.Refund) refundedJSON {
	return refundedJSON{Refund: refundOf(f), Licenses: wire.ListOf(f.Licenses, o.licenseOf)}
}

func refundOf(f license.Refund) refundJSON {
	return refundJSON{
		ID: f.ID, PartnerID: f.PartnerID, ExternalID: f.ExternalID, Reason: f.Reason,
		CreatedAt: wire.Time(f.CreatedAt), ReversedAt: mayTime(f.ReversedAt),
	}
}

// refundBody records a refund.
type refundBody struct {
	LicenseKey         string `json:"license_key"`
	PartnerID          int64  `json:"partner_id"`
	PurchaseID         int64  `json:"purchase_id"`
	PurchaseExternalID string `json:"purchase_external_id"`
	ExternalID         string `json:"external_id"`
	Reason             string `json:"reason"`
	RecordOnly         bool   `json:"record_only"` // the money was returned another way
}

// order converts the body for package license.
func (b refundBody) order() (license.RefundOrder, error) {
	key, err1 := text("license_key", b.LicenseKey)
	purchase, err2 := text("purchase_external_id", b.PurchaseExternalID)
	externalID, err3 := text("external_id", b.ExternalID)
	reason, err4 := text("reason", b.Reason)
	err := cmp.Or(err1, err2, err3, err4)
	switch {
	case err != nil:
	case b.PurchaseID != 0:
		if err = number("purchase_id", b.PurchaseID, 1, math.MaxInt64); err == nil &&
			(purchase != "" || b.PartnerID != 0) {
			err = fault.Field(
				"purchase_id",
				"says which purchase is refunded; leave partner_id and purchase_external_id out.",
			)
		}
	case key == "" && purchase == "":
		err = fault.Field(
			"license_key",
			"is missing; say what is refunded by license_key, by purchase_id, or by partner_id and "+
				"purchase_external_id.",
		)
	case purchase != "" && b.PartnerID == 0:
		err = fault.Field(
			"partner_id",
			"is missing; an external id is a partner's own, so send partner_id with purchase_external_id.",
		)
	case purchase != "":
		err = partnerID(b.PartnerID)
	case b.PartnerID != 0:
		err = fault.Field(
			"purchase_external_id",
			"is missing; partner_id goes with it. To refund a whole license send license_key alone.",
		)
	}
	return license.RefundOrder{
		LicenseKey: key, PartnerID: b.PartnerID, PurchaseID: b.PurchaseID, PurchaseExternalID: purchase,
		ExternalID: externalID, Reason: reason,
	}, err
}

func (o *Operator) refund(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b refundBody
	raw, err := decode(w, r, &b)
	if err != nil {
		return err
	}
	order, err := b.order()
	if err != nil {
		return err
	}
	if order.Idempotency, err = idempotencyOf(r, t, raw); err != nil {
		return err
	}
	if err := mustRepeat(order.Idempotency, order.ExternalID); err != nil {
		return err
	}
	if !b.RecordOnly {
		if done, err := o.askRefund(w, r, t, order); done || err != nil {
			return err
		}
	}
	f, err := o.Licenses.Refund(r.Context(), actor(t), order)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusCreated, o.refundedOf(f))
}

func (o *Operator) reverseRefund(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if err := noMembers(w, r); err != nil {
		return err
	}
	f, err := o.Licenses.ReverseRefund(r.Context(), actor(t), pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, o.refundedOf(f))
}
