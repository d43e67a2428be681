package bulk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/webhook/history"
)

// selectBatch is the number of rows read at a time.
const selectBatch = 500

// OfLicenses selects licenses.
func OfLicenses(r *license.Store, f license.FindAny) Selection {
	return func(ctx context.Context, most int) (list []Target, err error) {
		for before := int64(0); len(list) < most; {
			found, err := r.FindAny(ctx, f, before, selectBatch)
			if err != nil {
				return nil, err
			}
			for _, l := range found.Licenses {
				was := l.Status.String()
				if l.Held != 0 {
					was += ", on hold"
				}
				list = append(list, Target{ID: l.ID, Subject: l.Key, PartnerID: l.PartnerID, Was: was})
			}
			if before = found.Next; before == 0 {
				break
			}
		}
		slices.Reverse(list)
		return list, nil
	}
}

// OfSales selects purchases and plan changes.
func OfSales(r *license.Store, f license.FindSales) Selection {
	return func(ctx context.Context, most int) (list []Target, err error) {
		for before := int64(0); len(list) < most; {
			found, err := r.FindSales(ctx, f, before, selectBatch)
			if err != nil {
				return nil, err
			}
			for _, sale := range found.Sales {
				was := fmt.Sprintf("%d × tier %d", sale.Quantity, sale.Tier)
				if sale.ExternalID != "" {
					was = sale.ExternalID + ", " + was
				}
				list = append(
					list,
					Target{ID: sale.ID, Subject: strconv.FormatInt(sale.ID, 10), PartnerID: sale.PartnerID, Was: was},
				)
			}
			if before = found.Next; before == 0 {
				break
			}
		}
		slices.Reverse(list)
		return list, nil
	}
}

// OfRefunds selects the refunds of licenses or purchases that are not reversed.
func OfRefunds(r *license.Store, of Kind, selected Selection) Selection {
	refunds := r.StandingRefunds
	if of == Purchases {
		refunds = r.StandingRefundsOfSales
	}
	return func(ctx context.Context, most int) (list []Target, err error) {
		targets, err := selected(ctx, most)
		if err != nil || len(targets) >= most { // too many
			return targets, err
		}
		seen := map[int64]bool{}
		for part := range slices.Chunk(targets, selectBatch) {
			ids := make([]int64, len(part))
			for i, t := range part {
				ids[i] = t.ID
			}
			found, err := refunds(ctx, ids)
			if err != nil {
				return nil, err
			}
			for _, f := range found {
				if !seen[f.ID] {
					seen[f.ID] = true
					list = append(
						list,
						Target{ID: f.ID, Subject: strconv.FormatInt(f.ID, 10), PartnerID: f.PartnerID, Was: "stands"},
					)
				}
			}
		}
		slices.SortFunc(list, func(a, b Target) int { return cmp.Compare(a.ID, b.ID) })
		return list, nil
	}
}

// OfDeliveries selects deliveries of a partner, or of all partners (0), in the order of their
// events: those of a license are resent in that order.
func OfDeliveries(h history.Reader, partnerID int64, f history.Filter) Selection {
	return func(ctx context.Context, most int) (list []Target, err error) {
		for after := (history.Key{}); len(list) < most; {
			found, err := h.ListAll(ctx, partnerID, f, after, selectBatch)
			if err != nil {
				return nil, err
			}
			for _, d := range found.Deliveries {
				list = append(
					list,
					Target{
						ID:        d.EventID,
						Subject:   strconv.FormatInt(d.EventID, 10),
						PartnerID: d.PartnerID,
						Was:       string(d.State),
					},
				)
			}
			if after = found.Next; after.IsZero() {
				break
			}
		}
		slices.SortFunc(list, func(a, b Target) int { return cmp.Compare(a.ID, b.ID) })
		return list, nil
	}
}

// eachPartner calls do with every partner, oldest first.
func eachPartner(ctx context.Context, partners *partner.Store, do func(partner.Partner)) error {
	for page := (paging.Page{Number: 1, Limit: paging.MaxLimit, Order: paging.OldestFirst}); ; page.Number++ {
		list, total, err := partners.List(ctx, page)
		if err != nil {
			return fmt.Errorf("list partners: %w", err)
		}
		for _, p := range list {
			do(p)
		}
		if page.Number*page.Limit >= total {
			return nil
		}
	}
}

// OfPartners selects the partners that match means.
func OfPartners(partners *partner.Store, means func(partner.Partner) bool) Selection {
	return func(ctx context.Context, most int) (list []Target, err error) {
		err = eachPartner(ctx, partners, func(p partner.Partner) {
			if len(list) == most || !means(p) {
				return
			}
			was := "selling"
			if p.Paused() {
				was = "paused"
			}
			list = append(list, Target{ID: p.ID, Subject: p.Name, PartnerID: p.ID, Was: was})
		})
		return list, err
	}
}

// NamedLike matches partners with a text in their name, or with that external id; "" matches all.
func NamedLike(name string) func(partner.Partner) bool {
	return func(p partner.Partner) bool {
		return name == "" || strings.Contains(strings.ToLower(p.Name), strings.ToLower(name)) || p.ExternalID == name
	}
}
