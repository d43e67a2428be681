package console_test

import (
	"net/url"
	"strconv"

	"claviger/internal/apptest"
	"claviger/internal/bulk"
	"claviger/internal/license"
	"claviger/internal/profile"
	"claviger/internal/webhook/history"
)

func init() {
	fill := func(act bulk.Act) func(*harness, known) string {
		return func(h *harness, of known) string {
			if !of {
				return none
			}
			return strconv.FormatInt(h.bulkJob(act).ID, 10)
		}
	}
	registry.Placeholders["bulk"] = fill(bulk.Hold)
	for _, act := range bulk.Acts {
		at := "/bulk/" + string(act)
		registry.Placeholders[string(act)+"_job"] = fill(act)
		filter := url.Values{"partner_id": {"1"}}
		switch act.Kinds()[0] {
		case bulk.Events:
			filter = url.Values{"partner": {"1"}}
		case bulk.Partners:
			filter = url.Values{"name": {"Tide"}}
		case bulk.Licenses, bulk.Purchases, bulk.Refunds:
		}
		registry.Queries[at] = func(*harness, known) url.Values { return filter }
		registry.Forms[at] = form()
		registry.Forms[at+"/{"+string(act)+"_job}"] = form("do", "start")
		registry.Forms[at+"/{"+string(act)+"_job}/cancel"] = form()
	}
}

// bulkJob prepares an act on a suitable thing.
func (h *harness) bulkJob(act bulk.Act) bulk.Job {
	h.Helper()
	order := bulk.Order{Act: act}
	key := h.sold().Licenses[0].Key
	licenses := bulk.OfLicenses(h.Licenses, license.FindAny{Find: license.Find{Key: key}})
	switch order.Select = licenses; act {
	case bulk.Reinstate:
		_, err := h.Licenses.Hold(h.Context(), apptest.Tester, key, license.HoldOther)
		h.Must(err)
	case bulk.Reverse:
		_, err := h.Licenses.Refund(h.Context(), apptest.Tester, license.RefundOrder{LicenseKey: key})
		h.Must(err)
		order.Select = bulk.OfRefunds(h.Licenses, bulk.Licenses, licenses)
	case bulk.Redeliver:
		order.Select = bulk.OfDeliveries(h.History, h.tide.ID, history.Filter{})
	case bulk.Pause, bulk.Resume:
		order.Reason, order.Select = "an investigation", bulk.OfPartners(h.Partners, bulk.NamedLike(h.another()))
	case bulk.Hold, bulk.Refund:
	}
	job, err := h.Bulk.Prepare(h.Context(), apptest.Tester, order)
	h.Must(err)
	return job
}

// another creates a partner with a unique name.
func (h *harness) another() string {
	h.Helper()
	p, _ := h.Partner(h.unique("Quay"), profile.URLs{})
	return p.Name
}
