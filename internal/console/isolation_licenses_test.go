package console_test

import (
	"fmt"
	"net/url"
	"strconv"

	"claviger/internal/account"
	"claviger/internal/apptest"
	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/paging"
)

// noKey is the key of no license.
const noKey = "00000000-0000-4000-8000-00000000dead"

func init() {
	registry.Placeholders["license"] = func(h *harness, of known) string {
		if !of {
			return noKey
		}
		return h.sold().Licenses[0].Key
	}
	registry.Placeholders["event"] = func(h *harness, of known) string {
		if !of {
			return none
		}
		return strconv.FormatInt(h.lastEvent(h.latest), 10)
	}
	registry.Placeholders["purchase"] = func(h *harness, of known) string {
		if !of {
			return none
		}
		return strconv.FormatInt(h.sold().ID, 10)
	}
	registry.Placeholders["refund"] = func(h *harness, of known) string {
		if !of {
			return none
		}
		f, err := h.Licenses.Refund(h.Context(), apptest.Tester, license.RefundOrder{LicenseKey: h.sold().Licenses[0].Key, ExternalID: h.unique("refund")})
		h.Must(err)
		return strconv.FormatInt(f.ID, 10)
	}
	registry.Placeholders["person"] = func(h *harness, of known) string {
		if !of {
			return none
		}
		h.person = h.User(h.unique("person") + "@buyer.example")
		return strconv.FormatInt(h.person.ID, 10)
	}
	registry.Placeholders["session"] = func(h *harness, of known) string {
		if !of {
			return "0123456789abcdef"
		}
		return h.Session(h.person, h.unique("key"))
	}
	for _, path := range []string{
		"/people/{person}/link", "/people/{person}/erase", "/people/{person}/sessions/end", "/people/{person}/sessions/{session}/end",
		"/licenses/{license}/refund", "/licenses/{license}/events/{event}/send",
		"/purchases/{purchase}/refund", "/refunds/{refund}/reverse", "/licenses/{license}/hold", "/licenses/{license}/reinstate",
		"/licenses/{license}/release", "/licenses/{license}/transfer", "/licenses/{license}/plan",
	} {
		registry.Forms[path] = form()
	}
	registry.Forms["/people/{person}/email"] = form("email", "corrected@example.com")
	registry.Forms["/people/{person}/merge"] = func(h *harness, _ known) url.Values {
		return url.Values{"into": {strconv.FormatInt(h.User(buyer).ID, 10)}}
	}
	registry.Queries["/search"] = func(*harness, known) url.Values { return url.Values{"q": {"tide"}} }
}

// counter makes texts unique.
var counter int

func (h *harness) unique(what string) string {
	counter++
	return fmt.Sprintf("%s-%d", what, counter)
}

// sold sells a license of Tide's to a buyer.
func (h *harness) sold() license.Sale {
	h.Helper()
	who := account.Person{Email: buyer}
	s, err := h.Licenses.Purchase(h.Context(), apptest.Tester, license.Purchase{
		PartnerID: h.tide.ID, Tier: 1, Quantity: 1, Buyer: &who, ExternalID: h.unique("order"), AmountCents: 4900, Currency: "USD",
	})
	h.Must(err)
	h.latest = s.Licenses[0]
	return s
}

// lastEvent returns the id of the newest event of a license.
func (h *harness) lastEvent(l license.License) int64 {
	h.Helper()
	list, err := h.Events.OfLicense(h.Context(), l.ID, event.Filter{}, paging.Page{Number: 1, Limit: 1})
	h.Must(err)
	return list.Events[0].ID
}
