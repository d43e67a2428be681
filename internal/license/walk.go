package license

import (
	"context"
	"fmt"
	"strings"

	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// Walk says which licenses are read one batch after another, as for an export or a bulk
// act; the zero value means all licenses of all partners.
type Walk struct {
	Find
	PartnerID  int64
	OwnerID    int64
	ExternalID string // of a purchase in its chain
}

// walkWindow is how many ids one batch looks at where no index serves the filter: no
// statement of a walk takes long, however few licenses match.
const walkWindow = 2000

// Walk returns the next licenses before a position, newest first, and the position that
// goes on, 0 at the end. Position 0 stands before the newest. A batch can be empty while
// there is more to look at.
func (r *Registry) Walk(ctx context.Context, w Walk, before int64, limit int) (list []License, next int64, err error) {
	w.Key = strings.ToLower(strings.TrimSpace(w.Key))
	if !keyOrEnd(w.Key) {
		return nil, 0, fault.Parameter("license_key", "must be a license key, or the last %d characters of one or more.", minEnd)
	}
	if w.PartnerID != 0 && w.OwnerID == 0 && w.ExternalID == "" {
		found, err := r.Find(ctx, w.PartnerID, w.Find, before, limit)
		return found.Licenses, found.Next, err
	}
	err = r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		list, next, err = w.read(ctx, tx, before, limit)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read the next licenses: %w", err)
	}
	return list, next, nil
}

// read reads a batch by id.
func (w Walk) read(ctx context.Context, tx *sqldb.Tx, before int64, limit int) (list []License, next int64, err error) {
	if before == 0 {
		if before, err = sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT coalesce(max(id), 0) + 1 FROM licenses`); err != nil {
			return nil, 0, err
		}
	}
	low := before - walkWindow
	if w.OwnerID != 0 || w.ExternalID != "" || keyForm.MatchString(w.Key) {
		low = 0 // an index has the few that match
	}
	limit = max(limit, 1)
	sql, args := w.query(low, before, limit)
	rows, err := sqldb.All(ctx, tx, scan, sql, args...)
	if err != nil {
		return nil, 0, err
	}
	for _, l := range rows {
		if strings.HasSuffix(l.Key, w.Key) {
			list = append(list, l)
		}
	}
	switch {
	case len(rows) == limit:
		return list, rows[limit-1].ID, nil
	case low > 1:
		return list, low, nil
	}
	return list, 0, nil
}

// query is the statement for the licenses with ids from low to before.
func (w Walk) query(low, before int64, limit int) (sql string, args []any) {
	where, args := `id >= $1 AND id < $2`, []any{low, before, limit}
	add := func(condition string, value any) {
		args = append(args, value)
		where += fmt.Sprintf(` AND `+condition, len(args))
	}
	if w.PartnerID != 0 {
		add(`partner_id = $%d`, w.PartnerID)
	}
	if w.OwnerID != 0 {
		add(`owner_id = $%d AND owner_id <> 0`, w.OwnerID)
	}
	if w.ExternalID != "" {
		add(`id IN (SELECT k.license_id FROM purchases AS b JOIN purchase_links AS k ON k.purchase_id = b.id
			WHERE b.external_id = $%d AND b.external_id <> '')`, w.ExternalID)
	}
	if keyForm.MatchString(w.Key) {
		add(`license_key = $%d`, w.Key)
	}
	if w.Status != 0 {
		add(`status = $%d`, int(w.Status))
	}
	if w.Tier != 0 {
		add(`tier = $%d`, w.Tier)
	}
	if !w.From.IsZero() {
		add(`created_at >= $%d`, w.From)
	}
	if !w.To.IsZero() {
		add(`created_at < $%d`, w.To)
	}
	return `SELECT ` + columns + ` FROM licenses WHERE ` + where + ` ORDER BY id DESC LIMIT $3`, args
}

// Counted is how many licenses a partner has, or all partners (0), of a status or in all.
// It is read from counters.
func (r *Registry) Counted(ctx context.Context, partnerID int64, s event.Status) (int64, error) {
	n, err := sqldb.One(ctx, r.DB, sqldb.Value[int64], `SELECT CAST(coalesce(sum(n), 0) AS bigint) FROM license_blocks
		WHERE (partner_id = $1 OR $1 = 0) AND (status = $2 OR $2 = 0)`, partnerID, int(s))
	if err != nil {
		return 0, fmt.Errorf("count licenses: %w", err)
	}
	return n, nil
}

// SalesCounted is how many purchases there are: of one partner, or about how many of all
// partners (0). Of one partner, counting ends at most.
func (r *Registry) SalesCounted(ctx context.Context, partnerID int64, most int64) (n int64, more bool, err error) {
	if partnerID == 0 {
		n, err = sqldb.One(ctx, r.DB, sqldb.Value[int64], `SELECT coalesce(max(id), 0) FROM purchases`)
	} else {
		n, err = sqldb.One(ctx, r.DB, sqldb.Value[int64], `SELECT count(*) FROM (SELECT 1 FROM purchases WHERE partner_id = $1 LIMIT $2) AS found`, partnerID, most+1)
		n, more = min(n, most), n > most
	}
	if err != nil {
		return 0, false, fmt.Errorf("count purchases: %w", err)
	}
	return n, more, nil
}
