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

// What is read of an event is what the library's own types have.
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
			got, err := (&Stripe{secrets: []string{"whsec_1"}}).read(text, header)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(byLibrary(t, kind, object), got, cmp.AllowUnexported(incoming{}, sessionFact{}, refundFact{}, disputeFact{})); diff != "" {
				t.Errorf("%s %s:\n%s", kind, object, diff)
			}
		}
	}
}

// byLibrary reads an object into the library's types.
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
		f.url = "" // nobody needs that of an event
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
