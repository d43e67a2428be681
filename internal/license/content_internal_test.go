package license

import (
	"testing"

	"claviger/internal/account"
	"claviger/internal/ledger"
)

// TestContentNeverChanges pins the hashes that are stored with orders. Most are from the time when
// the text was printed from a struct. Changing one of them turns repeats of earlier orders into
// conflicts.
func TestContentNeverChanges(t *testing.T) {
	const key = "01a1de8a-f0d0-7d2f-a294-54f78967a3da"
	ada := &account.Person{Email: "ada@example.com", Name: `Ada "Countess" L.`, ExternalID: "u-1"}
	for name, test := range map[string]struct{ got, want string }{
		"purchase": {
			Purchase{PartnerID: 7, Tier: 2, Buyer: ada, Quantity: 3, AmountCents: 4900, Currency: "EUR", ExternalID: "payment-1"}.content(),
			"cce38e527d998e0c82183c2cb75353e4c8eef731e4e9e3b416fbf9325b2222f7",
		},
		"purchase without a buyer":  {Purchase{Tier: 1, Quantity: 1}.content(), "25931fef0592e2d8d4acf1caa52561e3cfd227ca5b1bae6a25e260958401e2f4"},
		"purchase of a buyer by id": {Purchase{Tier: 1, Quantity: 1, BuyerID: 12}.content(), "d6605666ea6ddf9dee101be327ce02dbe4e2adc519f020cd68147e5de6b11b1b"},
		"purchase that the partner was paid for": {
			Purchase{Tier: 1, Quantity: 1, AmountCents: 100, Currency: "EUR", Collected: ledger.ByPartner}.content(), "4abdc6335745322e7a820f2d9114a14014e1a350aff22c81865cabcf6e9284d6",
		},
		"purchase that the marketplace was paid for": {
			Purchase{Tier: 1, Quantity: 1, Collected: ledger.ByMarketplace}.content(), "25931fef0592e2d8d4acf1caa52561e3cfd227ca5b1bae6a25e260958401e2f4",
		},
		"plan change that the partner was paid for": {
			PlanChange{Tier: 3, AmountCents: 900, Currency: "EUR", Collected: ledger.ByPartner}.content(key), "336d805d527325adf029afc3d80439a7dcf1f871cdfea30b3bc6bfc70fe14c3c",
		},
		"refund by id":         {RefundOrder{LicenseKey: key, PurchaseID: 34}.content(), "4d224e1f7cade15233d45f75f9877587651a9016a5dcc75e868d2fe0fdc97c26"},
		"refund of free links": {RefundOrder{LicenseKey: key, FreeOnly: true}.content(), "d19282cac72db55eb44abf49880c5e1e6fa4121fb9b33768c817fc49db777e75"},
		"plan change":          {PlanChange{Tier: 3, AmountCents: 900, Currency: "EUR", ExternalID: "change-1"}.content(key), "ccd3d5ad2216963b05803a204b05e79cc4b947ce83903e0d0b4297801dfd77f5"},
		"refund":               {RefundOrder{LicenseKey: key, PurchaseExternalID: "payment-1", Reason: `asked "for"`}.content(), "6871394d3180c9191edac645e76e5a398a9fe200c2037d4ccce7565779413c6c"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %s, want %s", name, test.got, test.want)
		}
	}
}
