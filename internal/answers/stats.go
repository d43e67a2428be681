package answers

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"claviger/internal/fault"
	"claviger/internal/stats"
	"claviger/internal/wire"
)

// statsAnswer is the figures of a partner on the wire.
type statsAnswer struct {
	Days      []dayAnswer  `json:"days"`
	Hours     []hourAnswer `json:"hours"`
	CountedTo wire.Time    `json:"counted_to,omitzero"`
}

type dayAnswer struct {
	Day           string `json:"day"`
	Sold          int64  `json:"sold"`
	Activated     int64  `json:"activated"`
	Deactivated   int64  `json:"deactivated"`
	Refunded      int64  `json:"refunded"`
	ActivatedSoon int64  `json:"activated_within_7_days"`
}

type hourAnswer struct {
	Hour     wire.Time       `json:"hour"`
	Attempts attemptsAnswer  `json:"attempts"`
	Failures []failureAnswer `json:"failures"`
	Requests requestsAnswer  `json:"requests"`
}

type attemptsAnswer struct {
	Succeeded int64  `json:"succeeded"`
	Failed    int64  `json:"failed"`
	P50       *int64 `json:"p50_ms,omitempty"`
	P95       *int64 `json:"p95_ms,omitempty"`
}

type failureAnswer struct {
	Status  int       `json:"status"`
	Count   int64     `json:"count"`
	FirstAt wire.Time `json:"first_at"`
	LastAt  wire.Time `json:"last_at"`
}

type requestsAnswer struct {
	Answered int64 `json:"answered"`
	Refused  int64 `json:"refused"`
}

// PartnerStats answers with the figures of a partner.
func (c *Common) PartnerStats(w http.ResponseWriter, r *http.Request, partnerID int64) error {
	q, err := wire.Query(r, "days", "hours")
	if err != nil {
		return err
	}
	asked := stats.Query{Days: 30, Hours: 24}
	if asked.Days, err = countOf(q, "days", asked.Days, stats.MaxDays); err != nil {
		return err
	}
	if asked.Hours, err = countOf(q, "hours", asked.Hours, stats.MaxHours); err != nil {
		return err
	}
	n, err := c.Stats.Read(r.Context(), partnerID, asked)
	if err != nil {
		return err
	}
	answer := statsOf(n)
	if err := c.addRequests(r, partnerID, answer.Hours); err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, answer)
}

// countOf reads a number of days or hours.
func countOf(q url.Values, name string, otherwise, most int) (int, error) {
	if !q.Has(name) {
		return otherwise, nil
	}
	n, err := strconv.Atoi(q.Get(name))
	if err != nil || n < 0 || n > most {
		return 0, fault.Parameter(name, "must be a whole number from 0 to %d.", most)
	}
	return n, nil
}

func statsOf(n stats.Numbers) statsAnswer {
	answer := statsAnswer{
		Days:      make([]dayAnswer, len(n.Days)),
		Hours:     make([]hourAnswer, len(n.Hours)),
		CountedTo: wire.Time(n.CountedTo),
	}
	for i, d := range n.Days {
		answer.Days[i] = dayAnswer{
			d.At.Format(time.DateOnly),
			d.Sold,
			d.Activated,
			d.Deactivated,
			d.Refunded,
			d.ActivatedSoon,
		}
	}
	for i, h := range n.Hours {
		answer.Hours[i] = hourAnswer{
			Hour: wire.Time(h.At), Failures: []failureAnswer{},
			Attempts: attemptsAnswer{h.Succeeded, h.Failed, quantile(h.Latency, 0.5), quantile(h.Latency, 0.95)},
		}
	}
	for _, f := range n.Failures {
		i := int(f.Hour.Sub(n.Hours[0].At) / time.Hour)
		answer.Hours[i].Failures = append(
			answer.Hours[i].Failures,
			failureAnswer{f.Status, f.Count, wire.Time(f.FirstAt), wire.Time(f.LastAt)},
		)
	}
	return answer
}

// quantile returns a quantile in milliseconds, nil if nothing was measured.
func quantile(h stats.Histogram, q float64) *int64 {
	d, ok := h.Quantile(q)
	if !ok {
		return nil
	}
	return new(d.Milliseconds())
}

// addRequests adds the number of the partner's calls in each hour.
func (c *Common) addRequests(r *http.Request, partnerID int64, hours []hourAnswer) error {
	if len(hours) == 0 {
		return nil
	}
	first := time.Time(hours[0].Hour)
	list, err := c.Requests.Hours(r.Context(), partnerID, first)
	for _, h := range list {
		if i := int(h.At.Sub(first) / time.Hour); i < len(hours) {
			hours[i].Requests = requestsAnswer{h.Answered, h.Refused}
		}
	}
	return err
}
