package shop_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/sqldb"
	"claviger/internal/visitor/pagetest"
)

// TestReceipt: the license links to the receipt of each purchase, with the seller, the item and the
// price, and only its buyer may read it.
func TestReceipt(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	h.AddUser(pagetest.Eve, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	l := h.Sell(pagetest.Ann, 1)
	change := license.PlanChange{Tier: 3, Currency: "USD", ExternalID: "a-very-long-payment-reference"}
	if _, err := h.Shop.Licenses.ChangePlan(t.Context(), pagetest.Tester, l.Key, change); err != nil {
		t.Fatal(err)
	}
	list, err := h.Shop.Licenses.Receipts(t.Context(), l.ID, l.OwnerID)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	page := b.Get("/licenses/" + l.RedemptionID)
	for i, c := range list {
		number := strconv.FormatInt(c.ID, 10)
		if got := page.Links("/receipts/" + number)["/receipts/"+number]; got != number {
			t.Errorf("the license leads to receipt %s by %q", number, got)
		}
		receipt := b.Get("/receipts/"+number).Want(http.StatusOK, "Receipt "+number)
		want := [][]string{{"Harbour", "Plan 1", "$49.00", pagetest.Ann, "Tide Planner", "Paid"}, {"Change to Plan 3", "Free", "a-very-lon…erence"}}[i]
		for _, s := range want {
			if !strings.Contains(receipt.Text(), s) {
				t.Errorf("receipt %s does not say %q: %s", number, s, receipt.Text())
			}
		}
	}
	eve := h.NewBrowser().SignIn(pagetest.Eve, pagetest.Password)
	own := "/receipts/" + strconv.FormatInt(list[0].ID, 10)
	for _, path := range []string{own, "/receipts/999999", "/receipts/x", "/receipts/0"} {
		eve.Get(path).Want(http.StatusNotFound, "Not found")
	}
	h.NewBrowser().Get(own).WantRedirect("/sign-in?next=" + strings.ReplaceAll(own, "/", "%2F"))

	if _, err := h.Shop.Licenses.Transfer(t.Context(), pagetest.Tester, l.Key, account.Person{Email: pagetest.Eve}); err != nil {
		t.Fatal(err)
	}
	if text := eve.Get("/licenses/" + l.RedemptionID).Text(); strings.Contains(text, "$49.00") {
		t.Errorf("the new owner reads what the old one paid: %s", text)
	}
	b.Get(own).Want(http.StatusOK, "Receipt "+strconv.FormatInt(list[0].ID, 10))
}

// TestOldReceipt: a sale from the time when all currencies had two decimals is printed as it was
// then, and counts with its real value for another plan.
func TestOldReceipt(t *testing.T) {
	h := pagetest.New(t)
	h.AddUser(pagetest.Ann, pagetest.Password)
	b := h.NewBrowser().SignIn(pagetest.Ann, pagetest.Password)
	sell := func(amount int64) license.Sale {
		t.Helper()
		sale, err := h.Shop.Licenses.Purchase(t.Context(), pagetest.Tester, license.Purchase{
			PartnerID: h.Partner.ID, Tier: 1, Quantity: 1, AmountCents: amount, Currency: "JPY", Buyer: &account.Person{Email: pagetest.Ann},
		})
		if err != nil {
			t.Fatal(err)
		}
		return sale
	}
	old := sell(590000)
	err := h.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		tx.Queue(`UPDATE old_amounts SET last_purchase = $1`, old.ID)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sale license.Sale
		want string
	}{{old, "5,900.00\u00a0JPY"}, {sell(5900), "5,900\u00a0JPY"}} {
		for _, path := range []string{"/receipts/" + strconv.FormatInt(c.sale.ID, 10), "/licenses/" + c.sale.Licenses[0].RedemptionID} {
			if page := b.Get(path); !strings.Contains(page.Body, ">"+c.want+"<") {
				t.Errorf("%s does not say %q: %s", path, c.want, page.Text())
			}
		}
	}
}
