package payment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// orderIDs maps the prefixes of the names of an order to the statement that finds its checkout. An
// order has our ref and the provider's ids of its session, payment, charge, refunds and disputes. A
// second payment for it is only in a problem.
var orderIDs = []struct {
	prefixes []string
	where    string
}{
	{[]string{refPrefix}, `ref = $1`},
	{[]string{"cs_"}, `(session_id = $1 AND session_id <> '')`},
	{[]string{"pi_"}, `(intent_id = $1 AND intent_id <> '')`},
	{[]string{"ch_", "py_"}, `(charge_id = $1 AND charge_id <> '')`},
	{
		[]string{"re_", "pyr_"},
		`id = (SELECT checkout_id FROM payment_refunds WHERE provider_id = $1 AND provider_id <> '')`,
	},
	{[]string{"dp_", "du_"}, `id = (SELECT checkout_id FROM payment_disputes WHERE provider_id = $1)`},
}

// IsOrderID reports whether a text has the form of an id of an order: our reference or an id of
// Stripe.
func IsOrderID(s string) bool { return orderWhere(s) != "" }

// orderWhere returns the condition for an id, $1, or "".
func orderWhere(id string) string {
	for _, kind := range orderIDs {
		for _, p := range kind.prefixes {
			if strings.HasPrefix(id, p) && len(id) > len(p) && !strings.ContainsRune(id, 0) {
				return kind.where
			}
		}
	}
	return ""
}

func errNoOrder() error {
	return fault.New(fault.Missing, CodeUnknownOrder,
		"There is no such order. An order is named by its reference (co_…), or by Stripe's id of its session "+
			"(cs_…), "+
			"payment (pi_…), charge (ch_…), refund (re_…) or dispute (dp_… or du_…).")
}

// OrderByID returns the order with an id: our reference, or an id of Stripe. Stripe is asked about a
// charge or a refund that no event has named. The state is derived from the facts.
func (b *Store) OrderByID(ctx context.Context, id string) (Checkout, error) {
	where := orderWhere(id)
	if where == "" {
		return Checkout{}, errNoOrder()
	}
	c, found, err := b.find(ctx, where, id)
	if err == nil && !found {
		c, found, err = b.findByPayment(ctx, id)
	}
	if err == nil && !found {
		err = errNoOrder()
	}
	if err != nil {
		return Checkout{}, err
	}
	err = b.DB.Read(ctx, func(tx *sqldb.Tx) error {
		one := []Checkout{c}
		err := derive(ctx, tx, one)
		c = one[0]
		return err
	})
	if err != nil {
		return Checkout{}, fmt.Errorf("derive the state of an order: %w", err)
	}
	return c, nil
}

// findByPayment finds the order of an id that is not in its checkout: it belongs to a second
// payment for it, or only Stripe knows the payment that it belongs to.
func (b *Store) findByPayment(ctx context.Context, id string) (Checkout, bool, error) {
	c, found, err := b.find(ctx, ofProblem(`object_id = $1`), id)
	if err != nil || found {
		return c, found, err
	}
	intent := id
	if !strings.HasPrefix(id, "pi_") {
		if intent, err = b.intentOf(ctx, id); err != nil || intent == "" {
			return Checkout{}, false, err
		}
	}
	if c, found, err = b.ofIntent(ctx, intent); err != nil || found {
		return c, found, err
	}
	return b.find(ctx, ofProblem(`intent_id = $1 AND intent_id <> ''`), intent)
}

// ofProblem returns the condition for the checkout of a payment problem.
func ofProblem(where string) string {
	return `id = (SELECT max(checkout_id) FROM payment_problems WHERE ` + where + `)`
}

// intentOf returns the payment of a charge, a refund or a dispute; "" if there is none. Stripe is
// asked about one that is not stored here.
func (b *Store) intentOf(ctx context.Context, id string) (string, error) {
	intent, err := sqldb.One(ctx, b.DB, sqldb.Value[string],
		`SELECT intent_id FROM payment_refunds WHERE provider_id = $1 AND provider_id <> ''`, id)
	if !errors.Is(err, sqldb.ErrNone) {
		return intent, err
	}
	if b.Stripe == nil {
		return "", nil
	}
	prefix, _, _ := strings.Cut(id, "_")
	switch prefix {
	case "ch", "py":
		intent, err = b.Stripe.intentOfCharge(ctx, id)
	case "re", "pyr":
		var f refundFact
		f, err = b.Stripe.refundByID(ctx, id)
		intent = f.intent
	case "dp", "du":
		var f disputeFact
		f, err = b.Stripe.dispute(ctx, id)
		intent = f.intent
	default:
		return "", nil
	}
	if e, ok := errors.AsType[*CallError](err); ok {
		if e.Status != http.StatusNotFound {
			b.Log.Warn("Stripe could not be asked about an id that a person searches", "id", id, "err", err)
		}
		return "", nil
	}
	return intent, err
}
