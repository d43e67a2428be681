// Package answers has the answers that the partner's API and the marketplace's API have in common:
// their wire forms, filters and handlers. Each API authenticates, and says which partner or license
// a request is about.
package answers

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"claviger/internal/event"
	"claviger/internal/export"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/redelivery"
	"claviger/internal/requestlog"
	"claviger/internal/statement"
	"claviger/internal/stats"
	"claviger/internal/webhook/history"
	"claviger/internal/wire"
)

// Common serves the common answers. All services must be set.
type Common struct {
	Partners     *partner.Store
	Licenses     *license.Store
	Events       *event.Log
	History      history.Reader
	Redeliveries *redelivery.Store
	Requests     *requestlog.Log
	Exports      *export.Exporter
	Stats        *stats.Store
	Statements   *statement.Store

	// PublicURL is the public address for buyers, without a trailing slash. The pages of licenses
	// are below it.
	PublicURL string
}

// explanation is the reason for a license's status on the wire.
type explanation struct {
	LicenseKey  string   `json:"license_key"`
	Status      string   `json:"status"`
	Tier        int      `json:"tier"`
	Explanation []string `json:"explanation"`
}

// ExplainLicense answers with the reason for a license's status; see LicenseEvents.
func (c *Common) ExplainLicense(
	w http.ResponseWriter, r *http.Request, find func(context.Context) (license.License, error),
) error {
	l, err := find(r.Context())
	if err != nil {
		return err
	}
	sentences, err := c.Licenses.Explain(r.Context(), l)
	if err != nil {
		return err
	}
	return wire.JSONTagged(w, r, explanation{
		LicenseKey:  l.Key,
		Status:      l.Status.String(),
		Tier:        l.Tier,
		Explanation: sentences,
	})
}

// StatusOf reads the parameter status, zero if missing. An empty one is refused: its sender meant
// to filter and would get everything.
func StatusOf(q url.Values) (event.Status, error) {
	s, err := event.ParseStatus(q.Get("status"))
	if err == nil && s == 0 && q.Has("status") {
		err = fault.Parameter("status", "is empty; send inactive, active or deactivated, or leave it out.")
	}
	return s, err
}

// The range of storable times: nanoseconds since 1970 in 63 bits.
var (
	firstTime = time.Unix(0, 1).UTC()
	lastTime  = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Storable moves a bound outside that range to its edge; it still matches everything, or nothing.
func Storable(t time.Time) time.Time {
	switch {
	case t.Before(firstTime):
		return firstTime
	case t.After(lastTime):
		return lastTime
	}
	return t
}
