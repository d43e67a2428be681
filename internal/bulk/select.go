package bulk

import (
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

// selectBatch is how many rows are read at a time.
const selectBatch = 500

// OfLicenses selects licenses.
func OfLicenses(r *license.Registry, w license.Walk) Selection {
	return func(ctx context.Context, most int) (list []Target, err error) {
		for before := int64(0); len(list) < most; {
			found, next, err := r.Walk(ctx, w, before, selectBatch)
			if err != nil {
				return nil, err
			}
			for _, l := range found {
				was := l.Status.String()
				if l.Held != 0 {
					was += ", on hold"
				}
				list = append(list, Target{ID: l.ID, Subject: l.Key, PartnerID: l.PartnerID, Was: was})
			}
			if before = next; next == 0 {
				break
			}
		}
		slices.Reverse(list)
		return list, nil
	}
}

// OfDeliveries selects deliveries of a partner, or of all partners (0), in the order of
// their events: those of a license are sent in that order again.
func OfDeliveries(partners *partner.Registry, h history.Reader, partnerID int64, f history.Filter) Selection {
	return func(ctx context.Context, most int) (list []Target, err error) {
		ids := []int64{partnerID}
		if partnerID == 0 {
			if ids, err = allPartners(ctx, partners); err != nil {
				return nil, err
			}
		}
		for _, id := range ids {
			for after := (history.Key{}); len(list) < most; {
				found, err := h.List(ctx, id, f, after, selectBatch)
				if err != nil {
					return nil, err
				}
				for _, d := range found.Deliveries {
					list = append(list, Target{ID: d.EventID, Subject: strconv.FormatInt(d.EventID, 10), PartnerID: id, Was: string(d.State)})
				}
				if after = found.Next; after.IsZero() {
					break
				}
			}
		}
		slices.SortFunc(list, func(a, b Target) int { return int(a.ID - b.ID) })
		return list, nil
	}
}

// eachPartner calls do with every partner, oldest first.
func eachPartner(ctx context.Context, partners *partner.Registry, do func(partner.Partner)) error {
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

func allPartners(ctx context.Context, partners *partner.Registry) (ids []int64, err error) {
	err = eachPartner(ctx, partners, func(p partner.Partner) { ids = append(ids, p.ID) })
	return ids, err
}

// OfPartners selects one partner (0: any), and only those whose names have a text in them.
func OfPartners(partners *partner.Registry, partnerID int64, name string) Selection {
	return func(ctx context.Context, most int) (list []Target, err error) {
		err = eachPartner(ctx, partners, func(p partner.Partner) {
			if len(list) == most || partnerID != 0 && p.ID != partnerID || !strings.Contains(strings.ToLower(p.Name), strings.ToLower(name)) {
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
