package console_test

import (
	"net/url"
	"strconv"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/mail"
	"claviger/internal/replay"
	"claviger/internal/sqldb"
	"claviger/internal/webhook/history"
)

func init() {
	registry.Placeholders["recovery"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		return strconv.FormatInt(h.recovery().ID, 10)
	}
	registry.Placeholders["mail"] = func(h *harness, of known) string {
		if of == missing {
			return none
		}
		return strconv.FormatInt(h.givenUp(), 10)
	}
	empty := func(*harness, known) url.Values { return url.Values{} }
	for _, path := range []string{
		"/outages/{partner}/try", "/recover/{partner}", "/recover/{partner}/{recovery}/pause", "/recover/{partner}/{recovery}/resume",
		"/recover/{partner}/{recovery}/cancel", "/mails/{mail}/send", "/mails/{mail}/dismiss",
	} {
		registry.Forms[path] = empty
	}
}

// recovery is one of Tide: the one that is not finished, or a new one.
func (h *harness) recovery() replay.Job {
	h.Helper()
	job, err := h.Replays.Last(h.Context(), h.tide.ID)
	if err != nil || !job.Open() {
		job, err = h.Replays.Begin(h.Context(), apptest.Tester, replay.Request{PartnerID: h.tide.ID, Filter: history.Filter{State: history.Failed}, Rate: 1})
		h.Must(err)
	}
	return job
}

// givenUp makes a mail that was given up, and whose text is still there.
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
