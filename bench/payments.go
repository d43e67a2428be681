package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/load"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
	"claviger/internal/app"
	"claviger/internal/sqldb"
)

// visitors is the number of concurrent viewers of a product.
const visitors = 32

// perSide is the number of checkouts for one side of a round: more than are sold.
const perSide = 8000

// till is a shop with buyers who are about to pay: each has an account and an open checkout.
type till struct {
	*shop
	buyers int64
	paid   atomic.Int64 // by Stripe
}

// payments compares sales by Stripe's events with sales by the operator's orders, both for buyers
// with an account, and measures the page that leads to them.
func (b *bench) payments(ctx context.Context, store seed.Store) error {
	const name = "payment_ours"
	t := &till{shop: &shop{}, buyers: perSide * int64(b.rounds+1)}
	if err := t.open(ctx, store, name); err != nil {
		return err
	}
	if err := t.fill(ctx); err != nil {
		return err
	}
	service, err := startService(ctx, t.url)
	if err != nil {
		return err
	}
	for _, sc := range []scene{{name: "16 partners"}, {name: "1 partner", one: true}} {
		if err == nil {
			err = b.paid(ctx, store, sc, t, service)
		}
	}
	if err == nil {
		err = b.product(ctx, store, service, t.partners[0])
	}
	service.stop()
	if err == nil {
		err = t.audit(ctx)
	}
	return errors.Join(err, store.Drop(ctx, name))
}

// fill creates the buyers, and a checkout with each of the two partners that they may buy from.
func (t *till) fill(ctx context.Context) error {
	db, err := sqldb.Open(ctx, t.url, sqldb.Options{})
	if err != nil {
		return err
	}
	const n = `WITH RECURSIVE n (i) AS (SELECT CAST(1 AS bigint) UNION ALL SELECT i + 1 FROM n WHERE i < $1) `
	const checkouts = n + `INSERT INTO checkouts (ref, partner_id, tier, plan_name, item, amount, currency, paid,
		paid_currency, user_id,
			license_key, state, session_id, session_url, intent_id, purchase_id, refund_id, unsettled, tries,
			created_at, expires_at, paid_at, updated_at, next_at)
		SELECT CAST($3 AS text) || i, CASE WHEN CAST($4 AS bigint) = 1 THEN 1
		ELSE 1 + i % $4 END, 1, 'Plan', 'Partner, Plan', 4900, 'USD', 0, '', i,
			'', 1, 'cs_test_' || CAST($3 AS text) || i, 'https://pay.example.com', '', 0, 0, 1 = 0, 0,
			CAST($2 AS bigint), CAST($2 AS bigint), 0, CAST($2 AS bigint), 0 FROM n`
	at := app.Now()
	err = db.Write(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, n+`INSERT INTO users (id, email, email_key, name, external_id, operator, password_hash,
			proven_at, created_at, updated_at, erased_at)
			SELECT i, 'buyer-' || i || '@example.com', 'buyer-' || i || '@example.com', '', '', 1 = 0, '',
			CAST($2 AS bigint), CAST($2 AS bigint), CAST($2 AS bigint), 0 FROM n`, t.buyers, at)
		for _, sc := range []scene{{}, {one: true}} {
			if err == nil {
				// The open checkouts of a buyer are for different plans.
				sql := strings.Replace(checkouts, ", 1, 'Plan'", fmt.Sprintf(", %d, 'Plan'", sc.tier()), 1)
				_, err = tx.Exec(ctx, sql, t.buyers, at, sc.ref(), sc.partners())
			}
		}
		return err
	})
	return errors.Join(err, db.Close())
}

// ref returns the prefix of the scene's checkouts.
func (sc scene) ref() string { return fmt.Sprintf("co_%d_", sc.partners()) }

func (sc scene) tier() int {
	if sc.one {
		return 2
	}
	return 1
}

func (sc scene) partners() int64 {
	if sc.one {
		return 1
	}
	return clients
}

// paid measures one scene.
func (b *bench) paid(ctx context.Context, store seed.Store, sc scene, t *till, service *server) error {
	crowd, err := load.Gather(ctx, service.Addr, clients)
	if err != nil {
		return err
	}
	defer crowd.Close()
	t.paid.Store(0)
	var ordered atomic.Int64
	events := func() (float64, error) {
		ready, begun := t.events(sc), t.paid.Load() // signed before, as Stripe does
		return crowd.Rate(ctx, b.length/2, http.StatusOK, func(int) []byte {
			t.sold.Add(1)
			return ready[min(t.paid.Add(1)-begun, perSide)-1]
		})
	}
	orders := func() (float64, error) {
		return crowd.Rate(ctx, b.length/2, http.StatusCreated, func(client int) []byte {
			o, _ := t.order(sc, client)
			return load.Post("/operator/v1/purchases", seed.Token, fmt.Sprintf(
				`{"partner_id":%d,"tier":1,"quantity":1,"amount_cents":4900,"currency":"USD","external_id":"%s",
				"user":{"email":"buyer-%d@example.com"}}`,
				o.PartnerID, o.ExternalID, 1+ordered.Add(1)%t.buyers))
		})
	}
	if b.profile {
		next := func(int) []byte {
			t.sold.Add(1)
			return t.event(sc, t.paid.Add(1))
		}
		if err := b.profileSales(ctx, "payments-"+strings.ToLower(store.Name()), service, crowd, http.StatusOK,
			next); err != nil {
			return err
		}
	}
	err = b.sell("payments: events of Stripe against orders of the operator, "+sc.name, store, figure.AtLeast(0.8, ""),
		events, orders)
	if err == nil && t.paid.Load() > t.buyers {
		err = errors.New("more was paid than there are checkouts: raise perSide")
	}
	return err
}

// events returns the next payments.
func (t *till) events(sc scene) [][]byte {
	list := make([][]byte, perSide)
	for i := range list {
		list[i] = t.event(sc, t.paid.Load()+int64(i)+1)
	}
	return list
}

// event returns a payment as Stripe reports it.
func (t *till) event(sc scene, n int64) []byte {
	body := fmt.Sprintf(paidEvent, sc.ref(), n, stripe.APIVersion, time.Now().Unix())
	header := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{
		Payload: []byte(body), Secret: stripeSecret,
	}).Header
	return fmt.Appendf(nil, "POST /stripe/webhook HTTP/1.1\r\nHost: licenses.example.com\r\nContent-Type: "+
		"application/json\r\nStripe-Signature: %s\r\nContent-Length: %d\r\n\r\n%s",
		header, len(body), body)
}

// The Stripe account of the measured service.
const (
	stripeKey    = "sk_test_benchmark"
	stripeSecret = "whsec_benchmark"
)

// paidEvent is an event with all members that Stripe sends.
const paidEvent = `{"id":"evt_%[1]s%[2]d","object":"event","api_version":"%[3]s","created":%[4]d,"data":{"object":{
"id":"cs_test_%[1]s%[2]d","object":"checkout.session","adaptive_pricing":{"enabled":false},"after_expiration":null,
"allow_promotion_codes":null,
"amount_subtotal":4900,"amount_total":4900,"automatic_tax":{"enabled":false,"liability":null,"provider":null,
"status":null},
"billing_address_collection":null,"cancel_url":"https://licenses.example.com/products/1",
"client_reference_id":"%[1]s%[2]d","client_secret":null,
"collected_information":null,"consent":null,"consent_collection":null,"created":%[4]d,"currency":"usd",
"currency_conversion":null,"custom_fields":[],
"custom_text":{"after_submit":null,"shipping_address":null,"submit":null,"terms_of_service_acceptance":null},
"customer":null,"customer_account":null,
"customer_creation":"if_required","customer_details":{"address":{"city":null,"country":"DE","line1":null,
"line2":null,"postal_code":null,"state":null},
"business_name":null,"email":"buyer-%[2]d@example.com","individual_name":null,"name":"A Buyer","phone":null,
"tax_exempt":"none","tax_ids":[]},
"customer_email":null,"discounts":[],"expires_at":%[4]d,"invoice":null,"invoice_creation":{"enabled":false,
"invoice_data":{"account_tax_ids":null,
"custom_fields":null,"description":null,"footer":null,"issuer":null,"metadata":{},"rendering_options":null}},
"livemode":false,"locale":null,
"metadata":{"checkout":"%[1]s%[2]d"},"mode":"payment","origin_context":null,"payment_intent":"pi_%[1]s%[2]d",
"payment_link":null,
"payment_method_collection":"if_required","payment_method_configuration_details":{"id":"pmc_1","parent":null},
"payment_method_options":{"card":{"request_three_d_secure":"automatic"}},"payment_method_types":["card","link"],
"payment_status":"paid","permissions":null,
"phone_number_collection":{"enabled":false},"recovered_from":null,"saved_payment_method_options":null,
"setup_intent":null,"shipping_address_collection":null,
"shipping_cost":null,"shipping_options":[],"status":"complete","submit_type":null,"subscription":null,
"success_url":"https://licenses.example.com/checkout/%[1]s%[2]d","total_details":{"amount_discount":0,
"amount_shipping":0,"amount_tax":0},"ui_mode":"hosted",
"url":null,"wallet_options":null}},"livemode":false,"pending_webhooks":1,"request":{"id":null,
"idempotency_key":null},"type":"checkout.session.completed"}`

// product loads one product for the visitors without a pause, and measures when answers begin.
func (b *bench) product(ctx context.Context, store seed.Store, service *server, partnerID int64) error {
	crowd, err := load.Gather(ctx, service.Addr, visitors)
	if err != nil {
		return err
	}
	defer crowd.Close()
	var mu sync.Mutex
	var took []float64
	request := load.Page(fmt.Sprintf("/products/%d", partnerID), "a=b")
	look := func(_ context.Context, visitor int) error {
		status, first, err := crowd[visitor].FirstByte(request)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("the product's page answered %d", status)
		}
		mu.Lock()
		defer mu.Unlock()
		took = append(took, first.Seconds()*1000)
		return err
	}
	if _, err := load.Rate(ctx, visitors, b.length, look); err != nil { // warm
		return err
	}
	took = nil
	noise := meter.Listen(b.servers...)
	if _, err := load.Rate(ctx, visitors, 2*b.length, look); err != nil {
		return err
	}
	b.firstByte(store, "product page", visitors, took, figure.AtMost(20, "ms"), noise.Share())
	return nil
}
