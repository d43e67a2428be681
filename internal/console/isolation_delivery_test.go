package console_test

import (
	"net/url"
	"strconv"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/mail"
	"claviger/internal/redelivery"
	"claviger/internal/sqldb"
	"claviger/internal/webhook/history"
)

func init() {
	registry.Placeholders["recovery"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		return strconv.FormatInt(h.redelivery().ID, 10)
	}
	registry.Placeholders["delivery"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		return strconv.FormatInt(h.delivered(), 10)
	}
	registry.Placeholders["attempt"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		return strconv.FormatInt(h.Count(`SELECT max(id) FROM webhook_responses WHERE event_id = $1`, h.delivered()), 10)
	}
	registry.Placeholders["mail"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		return strconv.FormatInt(h.givenUp(), 10)
	}
	registry.Placeholders["problem"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		return strconv.FormatInt(h.paymentProblem(), 10)
	}
	registry.Placeholders["order"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		return h.freeOrder().Ref
	}
	empty := func(*harness, known) url.Values { return url.Values{} }
	for _, path := range []string{
		"/deliveries/{delivery}/send", "/outages/{partner}/try", "/recover/{partner}", "/recover/{partner}/{recovery}/pause", "/recover/{partner}/{recovery}/resume",
		"/recover/{partner}/{recovery}/cancel", "/mails/{mail}/send", "/mails/{mail}/dismiss",
		"/payments/{problem}/refund", "/payments/{problem}/dismiss",
	} {
		registry.Forms[path] = empty
	}
}

// delivered returns the first event of Tide, with a recorded attempt.
func (h *harness) delivered() int64 {
	h.Helper()
	if h.Count(`SELECT count(*) FROM deliveries WHERE partner_id = $1`, h.tide.ID) == 0 {
		h.sell()
	}
	event := h.Count(`SELECT min(event_id) FROM deliveries WHERE partner_id = $1`, h.tide.ID)
	if h.Count(`SELECT count(*) FROM webhook_responses WHERE event_id = $1`, event) == 0 {
		h.Exec(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, diagnosis, created_at, updated_at)
			VALUES ($1, '', 500, 'no', 12, '', $2, '', $3, $3)`, event, false, h.Accounts.Now())
	}
	return event
}

// redelivery returns a redelivery of Tide: the unfinished one, or a new one.
func (h *harness) redelivery() redelivery.Job {
	h.Helper()
	job, err := h.Redeliveries.Last(h.Context(), h.tide.ID)
	if err != nil || !job.Open() {
		job, err = h.Redeliveries.Begin(h.Context(), apptest.Tester, redelivery.Request{PartnerID: h.tide.ID, Filter: history.Filter{State: history.Failed}, Rate: 1})
		h.Must(err)
	}
	return job
}

// givenUp creates an email that was given up and still has its text.
func (h *harness) givenUp() int64 {
	h.Helper()
	now := h.Accounts.Now()
	cause := "outage:" + strconv.FormatInt(time.Now().UnixNano(), 36)
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		box := *h.Mail
		box.Wake = nil
		box.Put(tx, mail.Message{Cause: cause, To: "ops@tide.example", Subject: "Webhooks fail", Text: "They fail.", Lasting: true}, now.Add(time.Hour))
		tx.Queue(`UPDATE mails SET state = 3, attempts = 9, error = 'no such mailbox' WHERE cause = $1`, cause)
		return nil
	}))
	return h.Count(`SELECT id FROM mails WHERE cause = $1`, cause)
}
