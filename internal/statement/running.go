package statement

import (
	"context"
	"sync"

	"claviger/internal/sqldb"
)

// maxCached is the maximum number of partners in the cache.
const maxCached = 1000

// cache has the sums of open months, so that a page about them reads only the postings since the last
// look: a big partner has a hundred thousand per month.
type cache struct {
	mu    sync.Mutex
	folds map[int64]*fold // by partner; never changed, only replaced
}

func (c *cache) get(partnerID int64) *fold {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.folds[partnerID]
}

func (c *cache) put(f *fold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.folds == nil || len(c.folds) >= maxCached {
		c.folds = map[int64]*fold{}
	}
	c.folds[f.partnerID] = f
}

// Running returns the statements of the open month as they are now, by currency. They have no number.
// They begin with the balance at the end of the month before, also while that is not closed yet.
func (s *Store) Running(ctx context.Context, partnerID int64) ([]Statement, error) {
	var f *fold
	err := s.DB.Read(ctx, func(tx *sqldb.Tx) error {
		from, err := readState(ctx, tx, partnerID)
		if err != nil {
			return err
		}
		if known := s.running.get(partnerID); known != nil && known.from == from {
			f = known.clone()
		} else if f, err = newFold(ctx, tx, partnerID, s.Zone); err != nil {
			return err
		}
		return f.read(ctx, tx)
	})
	if err != nil {
		return nil, err
	}
	s.running.put(f)
	now := f.clone()
	now.endBefore(MonthOf(s.Now(), s.Zone))
	return now.current(), nil
}
