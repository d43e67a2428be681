package license

import (
	"fmt"

	"claviger/internal/account"
	"claviger/internal/ledger"
	"claviger/internal/secret"
)

// The content of an order distinguishes it from another one under the same external id. Its hash is
// stored with the order forever. So the hashed text must never change for an order that was
// possible before: a repeated order would be refused as another one. The text has each field, in a
// fixed order. This is version 1. A field added later is appended as " name=value", and only if the
// order has it: the text of other orders must not change.

// content returns the hash of the purchased plan, the buyer and the price.
func (p Purchase) content() string {
	var who account.Person
	if p.Buyer != nil {
		who = *p.Buyer
	}
	text := fmt.Sprintf(
		"%d {%q %q %q} %d %d %q",
		p.Tier,
		who.Email,
		who.Name,
		who.ExternalID,
		p.Quantity,
		p.AmountCents,
		p.Currency,
	)
	if p.BuyerID != 0 {
		text += fmt.Sprintf(" buyer_id=%d", p.BuyerID)
	}
	return secret.Hash(text + byShop(p.Shop) + collectedBy(p.Collected))
}

// content returns the hash of the license, its new plan and the price.
func (c PlanChange) content(key string) string {
	return secret.Hash(fmt.Sprintf("%s %d %d %q", key, c.Tier, c.AmountCents, c.Currency) + byShop(c.Shop) +
		collectedBy(c.Collected))
}

// byShop returns the suffix of the text of an order of the shop.
func byShop(shop bool) string {
	if shop {
		return " shop=true"
	}
	return ""
}

// collectedBy returns the suffix of the text of an order that the partner was paid for. To name the
// marketplace is the same as to name nobody.
func collectedBy(c ledger.Collector) string {
	if c == ledger.ByPartner {
		return " collected_by=partner"
	}
	return ""
}

// content returns the hash of the refunded purchases and the reason.
func (o RefundOrder) content() string {
	text := fmt.Sprintf("%s %q %q", o.LicenseKey, o.PurchaseExternalID, o.Reason)
	if o.PurchaseID != 0 {
		text += fmt.Sprintf(" purchase_id=%d", o.PurchaseID)
	}
	if o.FreeOnly {
		text += " free_only=true"
	}
	return secret.Hash(text)
}
