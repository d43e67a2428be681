package payment

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"
)

// TestReadAsTheLibraryDoes: our decoder reads the same facts as the library's types.
func TestReadAsTheLibraryDoes(t *testing.T) {
	const intent = `{"id":"pi_1","object":"payment_intent","status":"requires_payment_method"}`
	for kind, objects := range map[string][]string{
		"checkout.session.completed": {
			`{"id":"cs_1","client_reference_id":"co_1","status":"complete","payment_status":"paid","amount_total":5900,"currency":"usd","payment_intent":"pi_1","url":null}`,
			`{"id":"cs_1","client_reference_id":null,"metadata":{"checkout":"co_1"},"status":"complete","payment_status":"unpaid","amount_total":5900,"currency":"jpy","payment_intent":` + intent + `}`,
			`{"id":"cs_1","status":"complete","payment_status":"no_payment_required","amount_total":0,"currency":"usd","payment_intent":null}`,
			`{"id":"cs_1","status":"expired","payment_status":"unpaid","amount_total":5900,"currency":"usd"}`,
		},
		"refund.updated": {
			`{"id":"re_1","amount":5900,"currency":"eur","status":"succeeded","payment_intent":"pi_1","metadata":{"request":"rq_1"}}`,
			`{"id":"re_1","amount":5900,"currency":"eur","status":"failed","failure_reason":"expired_or_canceled_card","payment_intent":"pi_1"}`,
			`{"id":"re_1","amount":5900,"currency":"eur","status":"requires_action"}`,
		},
		"charge.dispute.created": {`{"id":"du_1","amount":5900,"currency":"usd","status":"needs_response","payment_intent":"pi_1"}`},
	} {
		for _, object := range objects {
			text := fmt.Appendf(nil, `{"id":"evt_1","api_version":"%s","created":1790000000,"livemode":false,"type":"%s","data":{"object":%s}}`, stripe.APIVersion, kind, object)
			header := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: text, Secret: "whsec_1"}).Header
			got, err := (&Stripe{secrets: []string{"whsec_1"}}).verified(text, header)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(byLibrary(t, kind, object), got, cmp.AllowUnexported(incoming{}, sessionFact{}, refundFact{}, disputeFact{})); diff != "" {
				t.Errorf("%s %s:\n%s", kind, object, diff)
			}
		}
	}
}

// byLibrary decodes an object into the library's types.
func byLibrary(t *testing.T, kind, object string) incoming {
	t.Helper()
	var e stripe.Event
	if err := json.Unmarshal([]byte(`{"id":"evt_1","created":1790000000,"data":{"object":`+object+`}}`), &e); err != nil {
		t.Fatal(err)
	}
	in := incoming{id: e.ID, kind: kind, at: time.Unix(e.Created, 0).UTC()}
	in.objectID, _ = e.Data.Object["id"].(string)
	var s stripe.CheckoutSession
	var r stripe.Refund
	var d stripe.Dispute
	var err error
	switch kind {
	case "checkout.session.completed":
		err = json.Unmarshal(e.Data.Raw, &s)
		f := sessionOf(&s)
		f.url = "" // not read from events
		in.session = &f
	case "refund.updated":
		err = json.Unmarshal(e.Data.Raw, &r)
		f := refundOf(&r)
		in.refund = &f
	default:
		err = json.Unmarshal(e.Data.Raw, &d)
		f := disputeOf(&d)
		in.dispute = &f
	}
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestEmptySecret: an empty secret verifies nothing, not even an event signed with it.
func TestEmptySecret(t *testing.T) {
	text := []byte(`{"id":"evt_1","type":"plan.created"}`)
	for _, secrets := range [][]string{nil, {""}, {"", "whsec_1"}} {
		header := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: text, Secret: ""}).Header
		if _, err := (&Stripe{secrets: secrets}).verified(text, header); err == nil {
			t.Errorf("%q verify a signature with nothing", secrets)
		}
	}
	header := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: text, Secret: "whsec_1"}).Header
	if _, err := (&Stripe{secrets: []string{"", "whsec_1"}}).verified(text, header); err != nil {
		t.Error(err)
	}
}

// TestSessionFacts: conditions under which a session is paid, complete and failed.
func TestSessionFacts(t *testing.T) {
	type fact struct{ paid, complete, failed bool }
	for _, of := range []struct {
		status, payment, intent string
		want                    fact
	}{
		{"open", "unpaid", "", fact{}},
		{"open", "paid", "", fact{}},
		{"open", "unpaid", "requires_payment_method", fact{}},
		{"expired", "unpaid", "", fact{failed: true}},
		{"expired", "paid", "", fact{failed: true}},
		{"complete", "", "", fact{complete: true}},
		{"complete", "unpaid", "", fact{complete: true}},
		{"complete", "unpaid", "processing", fact{complete: true}},
		{"complete", "unpaid", "requires_payment_method", fact{complete: true, failed: true}},
		{"complete", "unpaid", "canceled", fact{complete: true, failed: true}},
		{"complete", "paid", "succeeded", fact{paid: true, complete: true}},
		{"complete", "paid", "canceled", fact{paid: true, complete: true}},
		{"complete", "no_payment_required", "", fact{paid: true, complete: true}},
	} {
		o := &stripe.CheckoutSession{Status: stripe.CheckoutSessionStatus(of.status), PaymentStatus: stripe.CheckoutSessionPaymentStatus(of.payment)}
		if of.intent != "" {
			o.PaymentIntent = &stripe.PaymentIntent{ID: "pi_1", Status: stripe.PaymentIntentStatus(of.intent)}
		}
		f := sessionOf(o)
		if got := (fact{f.paid, f.complete, f.failed}); got != of.want || (f.intent == "pi_1") != (of.intent != "") {
			t.Errorf("%+v: %+v", of, got)
		}
	}
	o := &stripe.CheckoutSession{Metadata: map[string]string{refKey: "co_2"}, Currency: "isk", AmountTotal: 590000}
	if f := sessionOf(o); f.ref != "co_2" || f.currency != "ISK" || f.amount != 5900 {
		t.Errorf("%+v", f)
	}
	o.ClientReferenceID = "co_1"
	if f := sessionOf(o); f.ref != "co_1" {
		t.Errorf("%+v", f)
	}
	for status, want := range map[stripe.RefundStatus]RefundStatus{
		"pending": RefundPending, "requires_action": RefundPending, "": RefundPending, "succeeded": RefundSucceeded, "failed": RefundFailed, "canceled": RefundFailed,
	} {
		if f := refundOf(&stripe.Refund{Status: status}); f.status != want {
			t.Errorf("a refund that is %q: %v", status, f.status)
		}
	}
}
