package claviger_test

import (
	"testing"
	"time"

	"claviger/internal/apptest"
	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

// attempted waits until all events of the licenses were sent and recorded.
func attempted(t *testing.T, h *apptest.Harness, licenses []claviger.License) {
	t.Helper()
	for _, l := range licenses {
		known, err := h.Licenses.ByKey(t.Context(), l.LicenseKey)
		if err != nil || !h.Webhooks.AwaitAttempt(t.Context(), known.ID, time.Minute) {
			t.Fatalf("nothing of license %s was sent: %v", l.LicenseKey, err)
		}
	}
}

// deliveryOperations calls the partner's operations for deliveries.
func deliveryOperations(t *testing.T, c *claviger.Client, eventID int64) {
	t.Helper()
	ctx := t.Context()
	since := time.Now().Add(-time.Hour)
	detail := must(c.Delivery(ctx, eventID))(t)
	attempt := must(c.Attempt(ctx, eventID, detail.AttemptList.Items[0].AttemptID))(t)
	if attempt.SignedText == "" || attempt.Timing.FirstByteUs == 0 {
		t.Errorf("the attempt is %+v", attempt)
	}
	if list := all(t, c.Deliveries(ctx, claviger.DeliveryFilter{From: since, Limit: 2})); len(list) != 3 {
		t.Errorf("the deliveries are %+v", list)
	}
	if list := all(t, c.SearchLicenses(ctx, claviger.SearchFilter{Key: detail.LicenseKey[30:], Tier: 1})); len(list) != 1 {
		t.Errorf("found %+v", list)
	}
	if e := must(c.EstimateRedelivery(ctx, claviger.DeliveryFilter{From: since}, 3))(t); e.Count != 3 || e.Seconds != 1 {
		t.Errorf("the estimate is %+v", e)
	}
	job := must(c.BeginRedelivery(ctx, claviger.RedeliveryOrder{From: new(since.UTC().Format(time.RFC3339)), Rate: new(1)}))(t)
	must(c.PauseRedelivery(ctx, job.RedeliveryID))(t)
	must(c.ResumeRedelivery(ctx, job.RedeliveryID))(t)
	must(c.CancelRedelivery(ctx, job.RedeliveryID))(t)
	if job = must(c.Redelivery(ctx, job.RedeliveryID))(t); job.Status != "stopped" || len(all(t, c.Redeliveries(ctx))) != 1 {
		t.Errorf("the redelivery is %+v", job)
	}
}

// marketDeliveries calls the marketplace's operations for deliveries.
func marketDeliveries(t *testing.T, c *operator.Client, partnerID int64) {
	t.Helper()
	ctx := t.Context()
	list := all(t, c.Deliveries(ctx, partnerID, operator.DeliveryFilter{State: "delivered"}))
	if len(list) == 0 {
		t.Fatal("nothing is delivered")
	}
	event := list[len(list)-1].EventID
	if found := all(t, c.AllDeliveries(ctx, partnerID, operator.DeliveryFilter{EventID: event})); len(found) != 1 || found[0].PartnerID != partnerID {
		t.Errorf("among those of all partners there are %+v", found)
	}
	contact := must(c.AddContact(ctx, partnerID, operator.NewContact{Name: "Ops", Email: "ops@partner.example"}))(t)
	must(c.TestContact(ctx, partnerID, contact.ID))(t)
	if list := must(c.Contacts(ctx, partnerID))(t); len(list) == 0 || c.DeleteContact(ctx, partnerID, contact.ID) != nil {
		t.Errorf("the contacts are %+v", list)
	}
	detail := must(c.Delivery(ctx, partnerID, event))(t)
	must(c.Attempt(ctx, partnerID, event, detail.AttemptList.Items[0].AttemptID))(t)
	_ = all(t, c.PartnerLicenses(ctx, partnerID, operator.SearchFilter{Status: "active"}))
	// One per second: of several, one is left when it is paused.
	if e := must(c.EstimateRedelivery(ctx, partnerID, operator.DeliveryFilter{State: "delivered"}, 0))(t); e.Count < 3 {
		t.Errorf("the estimate is %+v", e)
	}
	job := must(c.BeginRedelivery(ctx, partnerID, operator.RedeliveryOrder{State: new("delivered"), Rate: new(1)}))(t)
	must(c.PauseRedelivery(ctx, partnerID, job.RedeliveryID))(t)
	must(c.ResumeRedelivery(ctx, partnerID, job.RedeliveryID))(t)
	must(c.CancelRedelivery(ctx, partnerID, job.RedeliveryID))(t)
	must(c.Redelivery(ctx, partnerID, job.RedeliveryID))(t)
	_ = all(t, c.Redeliveries(ctx, partnerID))
}
