package portal_test

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"claviger/internal/apptest"
	"claviger/internal/event"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/redelivery"
	"claviger/internal/sqldb"
)

// Values of the isolation test for licenses, deliveries and redeliveries.
func init() {
	placeholders["license"] = licenseOf
	placeholders["delivery"] = eventOf
	placeholders["attempt"] = attemptOf
	placeholders["recovery"] = jobOf

	for _, path := range []string{"/deliveries/{delivery}/send", "/recover", "/recover/{recovery}/pause", "/recover/{recovery}/resume", "/recover/{recovery}/cancel"} {
		forms[path] = func(*harness, partner.Partner) url.Values { return url.Values{"rate": {"0"}} } // starts none
	}
	for _, path := range []string{"/deliveries", "/deliveries/live"} {
		queries[path] = func(h *harness, p partner.Partner) url.Values {
			return url.Values{"license": {licenseOf(h, p)}, "id": {"evt_" + eventOf(h, p)}, "range": {"all"}}
		}
	}
	queries["/recover"] = func(h *harness, p partner.Partner) url.Values {
		return url.Values{"license": {licenseOf(h, p)}, "range": {"all"}}
	}
	queries["/licenses"] = func(h *harness, p partner.Partner) url.Values { return url.Values{"key": {licenseOf(h, p)}} }
}

func licenseOf(h *harness, p partner.Partner) string {
	h.Helper()
	if p == nobody {
		return "00000000-0000-4000-8000-000000000000"
	}
	list, err := h.Events.List(h.Context(), p.ID, event.Filter{}, paging.First())
	h.Must(err)
	if len(list.Events) == 0 {
		return h.sell(p).Key
	}
	return list.Events[0].LicenseKey
}

func eventOf(h *harness, p partner.Partner) string {
	h.Helper()
	if p == nobody {
		return none
	}
	licenseOf(h, p)
	list, err := h.Events.List(h.Context(), p.ID, event.Filter{}, paging.First())
	h.Must(err)
	return strconv.FormatInt(list.Events[0].ID, 10)
}

// attemptOf creates an attempt of the event.
func attemptOf(h *harness, p partner.Partner) string {
	h.Helper()
	if p == nobody {
		return none
	}
	id, err := strconv.ParseInt(eventOf(h, p), 10, 64)
	h.Must(err)
	var attempt int64
	h.Must(h.DB.Write(h.Context(), func(tx *sqldb.Tx) error {
		attempt, err = sqldb.One(h.Context(), tx, sqldb.Value[int64], `INSERT INTO webhook_responses
			(event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at)
			VALUES ($1, 'webhook-id: evt_1', 500, 'no', 3, 'https://tide.example/hook', $2, $3, $3) RETURNING id`, id, false, time.Now())
		return err
	}))
	return strconv.FormatInt(attempt, 10)
}

// jobOf starts a redelivery, if none is open.
func jobOf(h *harness, p partner.Partner) string {
	h.Helper()
	if p == nobody {
		return none
	}
	j, err := h.Redeliveries.Last(h.Context(), p.ID)
	if err != nil && !strings.Contains(err.Error(), "redelivered yet") {
		h.Must(err)
	}
	if err != nil || !j.Open() {
		h.sell(p)
		h.sell(p)
		j, err = h.Redeliveries.Begin(h.Context(), apptest.Tester, redelivery.Request{PartnerID: p.ID, Rate: 1})
		h.Must(err)
		_, err = h.Redeliveries.Pause(h.Context(), apptest.Tester, p.ID, j.ID)
		h.Must(err)
	}
	return strconv.FormatInt(j.ID, 10)
}
