package fakestripe

import (
	"maps"
	"slices"
	"strings"
)

// disputeFee is the fee of each dispute, in the smallest unit.
const disputeFee = 1500

// takeFee gives a paid charge the movement of its money: 2.9 % and 30 are the fee. The id is derived
// from the charge, because ids of other objects must not depend on fees.
func (s *Server) takeFee(charge Object) {
	amount := number(charge["amount"])
	movement := s.movement(charge, amount, amount*29/1000+30)
	movement["id"] = "txn_" + strings.TrimPrefix(charge.Text("id"), "ch_")
	movement["type"] = "charge"
	s.objects[movement.Text("id")] = movement
	charge["balance_transaction"] = movement.Text("id")
}

// movement returns a balance transaction in the currency of an object.
func (s *Server) movement(of Object, amount, fee int64) Object {
	return Object{
		"object": "balance_transaction", "amount": amount, "fee": fee, "net": amount - fee, "currency": of["currency"],
		"exchange_rate": nil, "created": s.now(),
	}
}

// moveDisputed gives a dispute the movements of its money: Stripe takes it with a fee unless the bank
// only asks, and returns it without the fee when the dispute is won. Stripe creates each of them once.
func (s *Server) moveDisputed(o Object) {
	list, _ := o["balance_transactions"].([]any)
	amount := number(o["amount"])
	status := o.Text("status")
	id := "txn_" + strings.TrimPrefix(o.Text("id"), "dp_")
	var movement Object
	switch {
	case len(list) == 0 && slices.Contains([]string{"needs_response", "under_review", "lost"}, status):
		movement = s.movement(o, -amount, disputeFee)
	case len(list) == 1 && status == "won":
		movement = s.movement(o, amount, 0)
		id += "_won"
	default:
		return
	}
	movement["id"] = id
	movement["type"] = "adjustment"
	// The list is replaced, because an answer with the old one may be on its way.
	o["balance_transactions"] = append(slices.Clone(list), movement)
}

// withFee returns a payment with its charge and the movement of its money.
func (s *Server) withFee(intent Object) Object {
	intent = maps.Clone(intent)
	charge := maps.Clone(s.objects[intent.Text("latest_charge")])
	if charge == nil {
		return intent
	}
	intent["latest_charge"] = charge
	movement := s.objects[charge.Text("balance_transaction")]
	if movement == nil || s.FeesLate {
		charge["balance_transaction"] = nil
	} else {
		charge["balance_transaction"] = maps.Clone(movement)
	}
	return intent
}
