package partner

import (
	"context"
	"errors"
	"fmt"

	"claviger/internal/fault"
	"claviger/internal/sqldb"
)

// ErrExists says that another partner has the external id.
var ErrExists = errors.New("partner: the external id is taken")

// Earlier returns what was answered when a partner was created under an external
// id, if one was. Another content than the stored one is refused.
func Earlier(ctx context.Context, tx *sqldb.Tx, externalID, content string) (answer []byte, found bool, err error) {
	if externalID == "" {
		return nil, false, nil
	}
	var was struct{ content, answer string }
	was, err = sqldb.One(ctx, tx, func(r *sqldb.Row, w *struct{ content, answer string }) error { return r.Scan(&w.content, &w.answer) },
		`SELECT content, answer FROM partners WHERE external_id = $1`, externalID)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("look for an earlier partner: %w", err)
	case was.content != content:
		return nil, false, fault.New(fault.Conflict, "external_id_reused",
			"This external_id was used before with other content. Use a new one, or repeat the first request as it was.").On("external_id")
	}
	return []byte(was.answer), true, nil
}

// StoreAnswer queues what a repeat of the creation is answered with. It must not
// have secrets in it: they are stored hashed or sealed only.
func StoreAnswer(tx *sqldb.Tx, id int64, answer []byte) {
	tx.Queue(`UPDATE partners SET answer = $2 WHERE id = $1`, id, string(answer))
}
