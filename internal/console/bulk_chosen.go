package console

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"claviger/internal/bulk"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/ui"
	"claviger/internal/webhook"
)

// problem says why the selection cannot be acted on, or "". Unknown filter names are refused:
// ignoring one would select more rows than intended.
func (c chosen) problem(q url.Values) string {
	known := map[string]bool{"of": true}
	for _, f := range c.form.Fields {
		if f.Error != "" {
			return f.Error
		}
		known[f.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !known[name] {
			return fmt.Sprintf("“%s” in the address is not a filter of this list.", storable(name))
		}
	}
	return ""
}

// apiFilter removes empty values from a filter of the operator API.
func apiFilter(pairs map[string]any) map[string]any {
	for name, value := range pairs {
		switch v := value.(type) {
		case string:
			if v != "" {
				continue
			}
		case int64:
			if v != 0 {
				continue
			}
		case time.Time:
			pairs[name] = v.UTC().Format(time.RFC3339)
			if !v.IsZero() {
				continue
			}
		}
		delete(pairs, name)
	}
	return pairs
}

// nobodyID is the id of no person: a filter by an unknown address matches nothing.
const nobodyID = -1

// chosen returns the licenses of the list.
func (l *Licenses) chosen(r *http.Request, v *Visit) (chosen, error) {
	f, form, email, nobody, err := l.licenseFilter(r)
	if nobody {
		f.Owners = []int64{nobodyID}
	}
	return chosen{
		form: form, back: v.Path(licensesPath) + withQuery(r.URL.Query(), "of", ""),
		find: bulk.OfLicenses(l.Licenses, f),
		filter: apiFilter(map[string]any{
			"license_key": f.Key, "email": email, "partner_id": f.PartnerID, "status": f.Status.String(),
			"tier": int64(f.Tier), "from": f.From, "to": f.To,
		}),
	}, err
}

// chosenSales returns the purchases of the list.
func (l *Licenses) chosenSales(r *http.Request, v *Visit) (chosen, error) {
	f, form, email, nobody, err := l.salesFilter(r)
	if nobody {
		f.Users = []int64{nobodyID}
	}
	return chosen{
		form: form, back: v.Path(purchasesPath) + withQuery(r.URL.Query(), "of", ""), find: bulk.OfSales(l.Licenses, f),
		filter: apiFilter(map[string]any{
			"external_id": f.ExternalID,
			"email":       email,
			"partner_id":  f.PartnerID,
			"from":        f.From,
			"to":          f.To,
		}),
	}, err
}

// chosen returns the deliveries of the list.
func (d *Delivery) chosen(r *http.Request, v *Visit) (chosen, error) {
	q, err := d.deliveryQuery(r)
	f := q.Filter
	for i, field := range q.Form.Fields {
		if field.Name == "range" && (field.Value == "all" || field.Value == "span") {
			q.Form.Fields[i].Value = "" // not a filter, or redundant with from and to
		}
	}
	filter := map[string]any{
		"partner_id": q.partnerID, "license_key": q.LicenseKey, "state": string(f.State),
		"status_code": f.Codes.String(), "event_id": f.EventID, "from": f.From, "to": f.To,
	}
	if f.Kind != 0 {
		filter["event"] = event.Kind(f.Kind).String()
	}
	return chosen{
		form: q.Form, back: v.Path(deliveriesPath) + withQuery(r.URL.Query(), "of", ""),
		find: bulk.OfDeliveries(d.History, q.partnerID, f), filter: apiFilter(filter),
	}, err
}

// chosen returns the partners of the list.
func (p *Partners) chosen(r *http.Request, v *Visit) (chosen, error) {
	name, state := partnerQuery(r)
	form := ui.Form{Fields: partnerFilters(name, state)}
	means := bulk.NamedLike(name)
	switch {
	case state != "" && !slices.Contains(webhook.EndpointStates, state):
		form.Refuse(fault.Field("state", "is not one of the list."))
	case state != "":
		found, err := p.Webhooks.InState(r.Context(), p.Partners, p.Profiles, state)
		if err != nil {
			return chosen{}, err
		}
		named := means
		means = func(one partner.Partner) bool { return named(one) && found[one.ID] }
	}
	return chosen{
		form: form, back: v.Path(partnersPath) + withQuery(r.URL.Query(), "of", ""),
		find:   bulk.OfPartners(p.Partners, means),
		filter: apiFilter(map[string]any{"name": name, "state": string(state)}),
	}, nil
}
