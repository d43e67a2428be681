package fakestripe

// Actions of buyers, banks and operators at Stripe. An action that the object's state does not
// allow does nothing.

// pay completes a session. The caller holds the lock.
func (s *Server) pay(id, paymentStatus, intentStatus string) (Object, bool) {
	o := s.objects[id]
	if o == nil || o["status"] != "open" {
		return nil, false
	}
	pi := s.add("pi", Object{
		"object": "payment_intent", "amount": o["amount_total"], "currency": o["currency"],
		"status": intentStatus, "refunded": int64(0),
		"metadata": map[string]string{"checkout": o.Text("intent_metadata")},
	})
	charge := s.add("ch", Object{
		"object": "charge", "payment_intent": pi.Text("id"), "amount": pi["amount"], "currency": pi["currency"],
	})
	pi["latest_charge"] = charge.Text("id")
	if paymentStatus == "paid" {
		s.takeFee(charge)
	}
	o["status"], o["payment_status"], o["payment_intent"] = "complete", paymentStatus, pi.Text("id")
	return o, true
}

// Pay pays a session immediately.
func (s *Server) Pay(session string) {
	s.do(func() []Event {
		if o, ok := s.pay(session, "paid", "succeeded"); ok {
			return []Event{s.happen("checkout.session.completed", o)}
		}
		return nil
	})
}

// PayLater completes a session with a payment that takes days.
func (s *Server) PayLater(session string) {
	s.do(func() []Event {
		if o, ok := s.pay(session, "unpaid", "processing"); ok {
			return []Event{s.happen("checkout.session.completed", o)}
		}
		return nil
	})
}

// Settle ends a payment by a slow bank: the money arrived or not.
func (s *Server) Settle(session string, paid bool) {
	s.do(func() []Event {
		o := s.objects[session]
		if o == nil || o["status"] != "complete" || o["payment_status"] != "unpaid" {
			return nil
		}
		pi := s.objects[o.Text("payment_intent")]
		if !paid {
			pi["status"] = "requires_payment_method"
			return []Event{s.happen("checkout.session.async_payment_failed", o)}
		}
		pi["status"] = "succeeded"
		o["payment_status"] = "paid"
		s.takeFee(s.objects[pi.Text("latest_charge")])
		return []Event{s.happen("checkout.session.async_payment_succeeded", o)}
	})
}

// Expire ends an open session.
func (s *Server) Expire(session string) {
	s.do(func() []Event {
		o := s.objects[session]
		if o == nil || o["status"] != "open" {
			return nil
		}
		o["status"] = "expired"
		return []Event{s.happen("checkout.session.expired", o)}
	})
}

// Refund refunds part of a session's payment, as from the Dashboard. It returns the id of the
// refund.
func (s *Server) Refund(session string, amount int64, status string) (id string) {
	s.do(func() []Event {
		pi := s.intentOf(session)
		if pi == nil {
			return nil
		}
		o := s.refund(pi, amount, status, "")
		id = o.Text("id")
		return []Event{s.happen("refund.created", o)}
	})
	return id
}

// RefundAll refunds the rest of a session's payment.
func (s *Server) RefundAll(session string) {
	s.do(func() []Event {
		pi := s.intentOf(session)
		if pi == nil {
			return nil
		}
		left := pi["amount"].(int64) - pi["refunded"].(int64)
		if left == 0 {
			return nil
		}
		return []Event{s.happen("refund.created", s.refund(pi, left, "succeeded", ""))}
	})
}

// SetRefund changes the status of a refund.
func (s *Server) SetRefund(id, status string) {
	s.do(func() []Event {
		o := s.objects[id]
		if o == nil {
			return nil
		}
		o["status"] = status
		if status == "failed" {
			return []Event{s.happen("refund.failed", o)}
		}
		return []Event{s.happen("refund.updated", o)}
	})
}

// Dispute opens a dispute about a session's payment. It returns the dispute's id.
func (s *Server) Dispute(session, status string) (id string) {
	s.do(func() []Event {
		pi := s.intentOf(session)
		if pi == nil {
			return nil
		}
		o := s.add(
			"dp",
			Object{
				"object":         "dispute",
				"payment_intent": pi.Text("id"),
				"charge":         pi.Text("latest_charge"),
				"amount":         pi["amount"],
				"currency":       pi["currency"],
				"status":         status,
				"reason":         "fraudulent",
				"evidence":       map[string]any{},
				"evidence_details": map[string]any{
					"due_by": s.now() + answerTime, "has_evidence": false, "past_due": false,
					"submission_count": int64(0),
				},
			},
		)
		s.moveDisputed(o)
		id = o.Text("id")
		return []Event{s.happen("charge.dispute.created", o)}
	})
	return id
}

// SetDispute changes the status of a dispute.
func (s *Server) SetDispute(id, status string) {
	s.do(func() []Event {
		o := s.objects[id]
		if o == nil {
			return nil
		}
		o["status"] = status
		s.moveDisputed(o)
		kind := "charge.dispute.updated"
		if status == "won" || status == "lost" || status == "warning_closed" || status == "prevented" {
			kind = "charge.dispute.closed"
		}
		return []Event{s.happen(kind, o)}
	})
}

// SetDueBy changes the deadline of a dispute.
func (s *Server) SetDueBy(id string, at int64) {
	s.do(func() []Event {
		o := s.objects[id]
		if o == nil {
			return nil
		}
		setDetail(o, "due_by", at)
		return []Event{s.happen("charge.dispute.updated", o)}
	})
}

func (s *Server) intentOf(session string) Object {
	if o := s.objects[session]; o != nil {
		return s.objects[o.Text("payment_intent")]
	}
	return nil
}

// Change changes members of an object without an event.
func (s *Server) Change(id string, members Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, v := range members {
		s.objects[id][k] = v
	}
}
