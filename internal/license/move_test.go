package license_test

import (
	"errors"
	"testing"

	"claviger/internal/license"
	"claviger/internal/sqldb"
)

// TestMove: another user gets all licenses of a guest, marked as such, and only under the locks of their
// partners.
func TestMove(t *testing.T) {
	h, ctx := newHarness(t), t.Context()
	p, other := h.partner(), h.partner()
	for _, id := range []int64{p, p, other} {
		h.buy(license.Purchase{PartnerID: id, Tier: 1, Buyer: new(person("guest"))})
	}
	h.buy(license.Purchase{PartnerID: p, Tier: 1, Buyer: new(person("ann"))})
	h.buy(license.Purchase{PartnerID: p, Tier: 1})
	guest, ann := h.user("guest").ID, h.user("ann").ID
	var moved license.Moved
	move := func(users ...int64) error {
		return h.db.Write(ctx, func(tx *sqldb.Tx) error {
			o, err := license.LockOwned(ctx, tx, users...)
			if err != nil {
				return err
			}
			o.MarkGuests([]int64{guest})
			moved, err = o.Move(ctx, guest, ann)
			return err
		})
	}
	if err := move(ann); !errors.Is(err, license.ErrOwnsMore) {
		t.Errorf("without the lock of a partner: %v", err)
	}
	if n := h.count(`SELECT count(*) FROM licenses WHERE from_guest OR owner_id = $1`, ann); n != 1 {
		t.Errorf("%d licenses were moved or marked", n)
	}
	if err := move(guest, ann); err != nil || moved.Licenses != 3 || moved.Purchases != 3 {
		t.Errorf("moved %+v, %v", moved, err)
	}
	if n := h.count(`SELECT count(*) FROM licenses WHERE from_guest AND owner_id = $1`, ann); n != 3 {
		t.Errorf("%d licenses are marked", n)
	}
	if n := h.count(`SELECT count(*) FROM licenses WHERE owner_id = $1`, ann); n != 4 {
		t.Errorf("she has %d licenses", n)
	}
	h.verify()
}
