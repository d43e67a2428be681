package api

import (
	"context"

	"claviger/internal/audit"
	"claviger/internal/webhook/history"
)

// senders leaves of who had a delivery sent what the reader may know.
type senders func(ctx context.Context, partnerID int64, d *history.Detail, e *history.Exchange) error

// everybody is for the marketplace.
func everybody(context.Context, int64, *history.Detail, *history.Exchange) error { return nil }

// teamOnly is for the partner: of people, it has the ids of the members of the partner's
// team. Which of the marketplace's people it was is not told.
func (a *API) teamOnly(ctx context.Context, partnerID int64, d *history.Detail, e *history.Exchange) error {
	sends := []*history.Manual{&d.Manual}
	for i := range d.Tries {
		sends = append(sends, &d.Tries[i].Manual)
	}
	if e != nil {
		sends = append(sends, &e.Manual)
	}
	var ids []int64
	for _, m := range sends {
		if m.By.Kind == audit.ByUser {
			ids = append(ids, m.By.ID)
		}
	}
	members, err := a.Partners.MembersAmong(ctx, partnerID, ids)
	if err != nil {
		return err
	}
	for _, m := range sends {
		if m.By.Kind == audit.ByUser && !members[m.By.ID] {
			m.By.ID = 0
		}
	}
	return nil
}
