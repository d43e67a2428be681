package operator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/partner"
	"claviger/internal/payout"
)

// testPayouts: a run reserves the due amounts, the bank gets a file of them, and each is settled once.
func testPayouts(t *testing.T, h *harness) {
	admin := h.User("money@example.com")
	_, err := h.Partners.AddMember(t.Context(), apptest.Tester, h.partner, admin.ID, partner.Admin)
	h.Must(err)
	adjust := func(amount int) {
		h.must(201, "POST", "/operator/v1/ledger/adjustments", fmt.Sprintf(
			`{"partner_id":%d,"amount":%d,"currency":"EUR","reason":"A prize"}`, h.partner, amount),
			fmt.Sprintf("Idempotency-Key: prize-%d", amount))
	}
	adjust(1500)
	h.must(201, "POST", fmt.Sprintf("/operator/v1/partners/%d/terms", h.partner), `{"share":7000}`)
	has := func(a answer, text string) {
		t.Helper()
		if !strings.Contains(a.Body, text) {
			t.Errorf("the answer has no %s: %s", text, a.Body)
		}
	}
	const order = `{"currency":"EUR"}`
	has(h.must(200, "GET", "/operator/v1/payouts/due?currency=EUR", ""), `"reason":"no_payout_details"`)
	has(h.must(409, "POST", "/operator/v1/payouts", order, "Idempotency-Key: run-0"), `"nothing_due"`)
	has(h.must(400, "POST", "/operator/v1/payouts", order), `"idempotency_required"`)
	has(h.must(422, "POST", "/operator/v1/payouts", `{"currency":"XXY"}`, "Idempotency-Key: run-1"), `"currency"`)

	earlier := *h.Payouts
	earlier.Now = func() time.Time { return h.clock.Now().Add(-payout.DetailsRest) }
	_, err = earlier.SetDetails(t.Context(), apptest.Tester, h.partner, admin, "IBAN DE02 1203 0000 0000 2020 51")
	h.Must(err)
	made := h.must(201, "POST", "/operator/v1/payouts", order, "Idempotency-Key: run-2")
	has(made, `"state":"prepared","lines":1,"amount":1500`)
	var run struct{ ID int64 }
	made.Into(t, &run)
	at := fmt.Sprintf("/operator/v1/payouts/%d", run.ID)
	if again := h.must(201, "POST", "/operator/v1/payouts", order, "Idempotency-Key: run-2"); again.Body != made.Body {
		t.Errorf("the order again: %s", again.Body)
	}
	has(h.must(409, "POST", "/operator/v1/payouts", order, "Idempotency-Key: run-3"), `"payout_prepared"`)
	has(h.must(200, "GET", at+"/file?format=csv", ""), fmt.Sprintf(`PAYOUT-%d-1,15.00,EUR,IBAN DE02 1203 0000 0000 2020 51`, run.ID))
	if a := h.send(h.tokens[account.Sell], "GET", at+"/file", ""); a.Status != 403 {
		t.Errorf("the file for a token that may only sell: %d", a.Status)
	}
	settle := func(status int, body, text string) {
		t.Helper()
		has(h.must(status, "POST", at+"/settle", body), text)
	}
	settle(422, `{"state":"paid"}`, `"reference"`)
	settle(422, `{"state":"sent","partners":[77]}`, `"unknown_payout_line"`)
	settle(200, `{"state":"sent"}`, `"state":"paying"`)
	settle(409, `{"state":"released","reason":"No"}`, `"payout_sent"`)
	settle(200, `{"state":"paid","reference":"B 1"}`, `"state":"paid"`)
	settle(200, `{"state":"paid","reference":"B 1"}`, `"state":"paid"`)
	settle(409, `{"state":"paid","reference":"B 2"}`, `"payout_settled"`)
	has(h.must(200, "GET", at+"/lines", ""), `"bank_reference":"B 1"`)
	has(h.must(200, "GET", at, ""), `"left_out":[]`)
	h.must(404, "GET", "/operator/v1/payouts/99", "")
	h.must(404, "GET", "/operator/v1/payouts/99/lines", "")
	h.must(404, "POST", "/operator/v1/payouts/99/settle", `{"state":"sent"}`)
	adjust(700)
	second := h.must(201, "POST", "/operator/v1/payouts", `{"currency":"EUR","partners":[1]}`, "Idempotency-Key: run-4")
	oldest := fmt.Sprintf(`"id":%d,`, run.ID)
	second.Into(t, &run)
	has(h.must(200, "GET", "/operator/v1/payouts?limit=1", ""), fmt.Sprintf(`"id":%d,`, run.ID))
	has(h.must(200, "GET", fmt.Sprintf("/operator/v1/payouts?limit=1&cursor=%d", run.ID), ""), oldest)
	has(h.must(200, "GET", fmt.Sprintf("/operator/v1/partners/%d/balances", h.partner), ""),
		`{"account":"paid","amount":-1500,"currency":"EUR"}`)
}
