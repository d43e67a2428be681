package license

import (
	"fmt"

	"claviger/internal/account"
	"claviger/internal/secret"
)

// The content of an order distinguishes it from another one under the same external
// id. It is a hash that is stored with the order for ever, so the text that is hashed
// must never change for an order that could be made before: a repeated order would
// be refused as another one. The text has each field, in a fixed order. This is
// version 1; a field that is added later is appended as " name=value", and only
// when the order has it, so that the text of other orders does not change.

// content is the hash of what is bought, by whom and for how much.
func (p Purchase) content() string {
	var who account.Person
	if p.Buyer != nil {
		who = *p.Buyer
	}
	text := fmt.Sprintf("%d {%q %q %q} %d %d %q", p.Tier, who.Email, who.Name, who.ExternalID, p.Quantity, p.AmountCents, p.Currency)
	if p.BuyerID != 0 {
		text += fmt.Sprintf(" buyer_id=%d", p.BuyerID)
	}
	return secret.Hash(text + byShop(p.Shop))
}

// content is the hash of what a license is changed to, and for how much.
func (c PlanChange) content(key string) string {
	return secret.Hash(fmt.Sprintf("%s %d %d %q", key, c.Tier, c.AmountCents, c.Currency) + byShop(c.Shop))
}

// byShop is what the text of an order of the shop ends with.
func byShop(shop bool) string {
	if shop {
		return " shop=true"
	}
	return ""
}

// content is the hash of what is refunded, and why.
func (o RefundOrder) content() string {
	text := fmt.Sprintf("%s %q %q", o.LicenseKey, o.PurchaseExternalID, o.Reason)
	if o.PurchaseID != 0 {
		text += fmt.Sprintf(" purchase_id=%d", o.PurchaseID)
	}
	return secret.Hash(text)
}
