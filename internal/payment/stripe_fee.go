package payment

import (
	"context"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"
)

// feePath is the place of a payment's fee in the answer, from the payment on.
const feePath = "latest_charge.balance_transaction"

// paymentFee returns the fee of a payment. It is not known until Stripe has computed it, which may be
// hours after the payment.
func (s *Stripe) paymentFee(ctx context.Context, intentID string) (fee feeFact, known bool, err error) {
	params := &stripe.PaymentIntentRetrieveParams{}
	params.AddExpand(feePath)
	o, err := s.client.V1PaymentIntents.Retrieve(ctx, intentID, params)
	if err == nil && (o == nil || o.ID == "") {
		err = errNoObject
	}
	if err != nil {
		return feeFact{}, false, callError(err)
	}
	c := o.LatestCharge
	if c == nil {
		return feeFact{}, false, nil
	}
	fee, known = feeOf(c.BalanceTransaction, c.Amount, c.Currency)
	return fee, known, nil
}

// ReadFees checks that the key may read the fees of payments.
func (s *Stripe) ReadFees(ctx context.Context) error {
	params := &stripe.PaymentIntentListParams{}
	params.Limit = stripe.Int64(1)
	params.AddExpand("data." + feePath)
	if err := s.client.V1PaymentIntents.List(ctx, params).Err(); err != nil {
		return callError(err)
	}
	return nil
}

// feesOf returns the fees of a dispute. Events are decoded without them.
func feesOf(o *stripe.Dispute) (fees []feeFact) {
	for _, movement := range o.BalanceTransactions {
		if fee, known := feeOf(movement, o.Amount, o.Currency); known {
			fees = append(fees, fee)
		}
	}
	return fees
}

// feeOf returns the fee of a movement of money for a payment or a dispute of this amount. It is not
// known if Stripe gave no movement, or only its id.
func feeOf(movement *stripe.BalanceTransaction, amount int64, currency stripe.Currency) (feeFact, bool) {
	if movement == nil || movement.ID == "" || movement.Currency == "" {
		return feeFact{}, false
	}
	settled := strings.ToUpper(string(movement.Currency))
	own := strings.ToUpper(string(currency))
	return feeFact{
		source: movement.ID,
		fee:    Amount{OwnAmount(movement.Fee, settled), settled},
		of:     Amount{OwnAmount(amount, own), own},
		moved:  OwnAmount(movement.Amount, settled),
		at:     time.Unix(movement.Created, 0).UTC(),
	}, true
}
