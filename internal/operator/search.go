package operator

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/support"
	"claviger/internal/wire"
)

// searchRoutes returns the routes of searches.
func (o *Operator) searchRoutes(
	on func(account.Scope, string, string, wire.Handler[account.Token]) wire.Route,
	list func(string, wire.Handler[account.Token]) wire.Route,
) []wire.Route {
	return []wire.Route{
		list("/search", o.searchAll),
		list("/licenses/search", o.findLicenses),
		on(account.Read, "GET", "/licenses/{key}/purchases", o.licensePurchases),
		on(account.Read, "GET", "/licenses/{key}/timeline", o.timeline),
		list("/purchases/search", o.findPurchases),
		on(account.Read, "GET", "/purchases/{id}", o.getPurchase),
		on(account.Read, "GET", "/refunds/{id}", o.getRefund),
		on(account.Sell, "POST", "/refunds/preview", o.previewRefund),
		on(account.Admin, "GET", "/users/{id}/erasure", o.previewErase),
		on(account.Admin, "GET", "/users/{id}/data", o.userData),
	}
}

// foundJSON is the result of a search on the wire.
type foundJSON struct {
	Text      string                             `json:"q"`
	As        []string                           `json:"looked_for"`
	Licenses  wire.Envelope[operatorLicenseJSON] `json:"licenses"`
	Users     wire.Envelope[userJSON]            `json:"users"`
	Purchases wire.Envelope[purchaseJSON]        `json:"purchases"`
	Refunds   wire.Envelope[refundJSON]          `json:"refunds"`
	Partners  wire.Envelope[foundPartnerJSON]    `json:"partners"`
	Orders    wire.Envelope[orderJSON]           `json:"orders"`
	Similar   wire.Envelope[userJSON]            `json:"similar_users"`
	More      bool                               `json:"more"`
}

// foundPartnerJSON is a found partner, in short.
type foundPartnerJSON struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	ExternalID string `json:"external_id"`
}

func (o *Operator) searchAll(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "q")
	if err != nil {
		return err
	}
	f, err := o.Support.Search(r.Context(), q.Get("q"))
	if err != nil {
		return err
	}
	answer := foundJSON{
		Text: f.Text, As: f.As, More: f.More, Licenses: wire.ListOf(f.Licenses, o.operatorLicenseOf),
		Users:     wire.ListOf(f.People, userOf),
		Purchases: wire.ListOf(f.Purchases, purchaseOf), Refunds: wire.ListOf(f.Refunds, refundOf),
		Similar: wire.ListOf(f.Similar, userOf),
	}
	orders, err := o.ordersOf(r.Context(), f.Orders)
	if err != nil {
		return err
	}
	answer.Orders = wire.List(orders)
	partners := make([]foundPartnerJSON, len(f.Partners))
	for i, p := range f.Partners {
		partners[i] = foundPartnerJSON{p.ID, p.Name, p.ExternalID}
	}
	answer.Partners = wire.List(partners)
	return wire.JSON(w, http.StatusOK, answer)
}

// cursor reads the limit and the cursor of a list that is ordered by number.
func cursor(q url.Values) (p paging.Page, before int64, err error) {
	if p, err = paging.Parse(q); err != nil {
		return p, 0, err
	}
	if p.Number > 1 {
		return p, 0, fault.Parameter("page", "has no number here beyond 1. Follow the next link of a page unchanged.")
	}
	before, err = naturalParam(q, "cursor", 1)
	return p, before, err
}

// cursorAnswer sets the headers of a page; next is the start of the next one.
func cursorAnswer(w http.ResponseWriter, r *http.Request, p paging.Page, next int64, searchedTo time.Time) {
	at := ""
	if next > 0 {
		at = strconv.FormatInt(next, 10)
	}
	wire.CursorHeaders(w, r, p, at)
	if !searchedTo.IsZero() {
		w.Header().Set("X-Searched-To", string(wire.AppendTime(nil, searchedTo)))
	}
}

// timesOf reads from and to.
func timesOf(q url.Values) (from, to time.Time, err error) {
	for name, at := range map[string]*time.Time{"from": &from, "to": &to} {
		if q.Get(name) == "" {
			continue
		}
		if *at, err = wire.ParseTime(q.Get(name)); err != nil {
			return from, to, fault.Parameter(
				name,
				"must be an RFC 3339 time such as 2026-11-15T09:30:00Z; the plus sign of an offset is written %%2B.",
			)
		}
	}
	return from, to, nil
}

// people returns the users with the email address of the query, guests included, nil if there is none
// in it; nobody reports that no user has it.
func (o *Operator) people(ctx context.Context, q url.Values) (ids []int64, nobody bool, err error) {
	if q.Get("email") == "" {
		return nil, false, nil
	}
	ids, err = o.Accounts.FindAll(ctx, q.Get("email"))
	return ids, len(ids) == 0, err
}

func (o *Operator) findLicenses(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "key", "email", "partner_id", "status", "tier", "from", "to", "cursor", "page", "limit")
	if err != nil {
		return err
	}
	f := license.FindAny{Find: license.Find{Key: q.Get("key")}}
	p, before, err := cursor(q)
	if err != nil {
		return err
	}
	if f.Status, err = event.ParseStatus(q.Get("status")); err != nil {
		return err
	}
	tier, err := naturalParam(q, "tier", 1)
	if err != nil {
		return err
	}
	f.Tier = int(min(tier, 1<<30))
	if f.PartnerID, err = naturalParam(q, "partner_id", 1); err != nil {
		return err
	}
	if f.From, f.To, err = timesOf(q); err != nil {
		return err
	}
	var nobody bool
	if f.Owners, nobody, err = o.people(r.Context(), q); err != nil {
		return err
	}
	var found license.Found
	if !nobody {
		if found, err = o.Licenses.FindAny(r.Context(), f, before, int(p.Limit)); err != nil {
			return err
		}
	}
	cursorAnswer(w, r, p, found.Next, found.SearchedTo)
	return wire.JSON(w, http.StatusOK, wire.ListOf(found.Licenses, o.operatorLicenseOf))
}

func (o *Operator) findPurchases(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "email", "partner_id", "external_id", "from", "to", "cursor", "page", "limit")
	if err != nil {
		return err
	}
	f := license.FindSales{ExternalID: q.Get("external_id")}
	p, before, err := cursor(q)
	if err != nil {
		return err
	}
	if f.PartnerID, err = naturalParam(q, "partner_id", 1); err != nil {
		return err
	}
	if f.From, f.To, err = timesOf(q); err != nil {
		return err
	}
	var nobody bool
	if f.Users, nobody, err = o.people(r.Context(), q); err != nil {
		return err
	}
	var found license.FoundSales
	if !nobody {
		if found, err = o.Licenses.FindSales(r.Context(), f, before, int(p.Limit)); err != nil {
			return err
		}
	}
	cursorAnswer(w, r, p, found.Next, found.SearchedTo)
	return wire.JSON(w, http.StatusOK, wire.ListOf(found.Sales, purchaseOf))
}

// timelineJSON is the case of a license on the wire.
type timelineJSON struct {
	License operatorLicenseJSON              `json:"license"`
	Explain []string                         `json:"explain"`
	Server  []string                         `json:"partner_server"`
	Entries wire.Envelope[timelineEntryJSON] `json:"entries"`
	More    bool                             `json:"more"`
	Text    string                           `json:"text"`
}

// timelineEntryJSON is one entry of a timeline on the wire; missing ids are 0.
type timelineEntryJSON struct {
	At         wire.Time `json:"at"`
	Kind       string    `json:"kind"`
	Title      string    `json:"title"`
	Text       string    `json:"text"`
	By         string    `json:"by"`
	Failed     bool      `json:"failed"`
	EventID    int64     `json:"event_id"`
	AttemptID  int64     `json:"attempt_id"`
	PurchaseID int64     `json:"purchase_id"`
}

func timelineEntryOf(e support.Entry) timelineEntryJSON {
	return timelineEntryJSON{
		wire.Time(e.At), string(e.Kind), e.Title, e.Text, e.By, e.Failed, e.EventID, e.AttemptID,
		e.PurchaseID,
	}
}

func (o *Operator) timeline(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	c, err := o.Support.Case(r.Context(), r.PathValue("key"))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, timelineJSON{
		License: o.operatorLicenseOf(c.License.License), Explain: c.Explain, Server: c.Server,
		Entries: wire.ListOf(c.Entries, timelineEntryOf),
		More:    c.More, Text: c.Text(),
	})
}
