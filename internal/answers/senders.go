package answers

import (
	"context"

	"claviger/internal/audit"
	"claviger/internal/webhook/history"
)

// senders removes the senders of a delivery that the reader may not know.
type senders func(ctx context.Context, partnerID int64, d *history.Detail, e *history.Exchange) error

// everybody keeps all senders, for the marketplace.
func everybody(context.Context, int64, *history.Detail, *history.Exchange) error { return nil }

// teamOnly is for the partner: of people, it keeps only the ids of members of its team. It does not
// reveal people of the marketplace.
func (c *Common) teamOnly(ctx context.Context, partnerID int64, d *history.Detail, e *history.Exchange) error {
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
	members, err := c.Partners.MembersAmong(ctx, partnerID, ids)
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
