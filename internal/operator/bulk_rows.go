package operator

import (
	"context"
	"net/http"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/bulk"
	"claviger/internal/wire"
)

// bulkRowJSON is one row on the wire.
type bulkRowJSON struct {
	Position  int64   `json:"position"`
	SubjectID int64   `json:"subject_id"`
	Subject   string  `json:"subject"`
	PartnerID int64   `json:"partner_id"`
	Was       string  `json:"was"`
	Will      string  `json:"will"`
	Result    string  `json:"result"`
	Code      string  `json:"code"`
	Message   string  `json:"message"`
	DoneAt    mayTime `json:"done_at"`
}

func (o *Operator) listBulkRows(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "cursor", "page", "limit", "result")
	if err != nil {
		return err
	}
	p, after, err := cursor(q)
	if err != nil {
		return err
	}
	only, narrow, err := bulk.ParseResult(q.Get("result"))
	if err != nil {
		return err
	}
	j, err := o.Bulk.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	rows, err := o.Bulk.Rows(r.Context(), j.ID, after, only, narrow, int(p.Limit)+1)
	if err != nil {
		return err
	}
	rows, next := cut(rows, p, func(row bulk.Row) int64 { return row.Position })
	cursorAnswer(w, r, p, next, time.Time{})
	return wire.JSON(w, http.StatusOK, wire.ListOf(rows, func(row bulk.Row) bulkRowJSON {
		return bulkRowJSON{
			Position: row.Position, SubjectID: row.ID, Subject: row.Subject, PartnerID: row.PartnerID, Was: row.Was,
			Will: row.Will, Result: row.Result.String(),
			Code: row.Code, Message: row.Message, DoneAt: mayTime(row.DoneAt),
		}
	}))
}

// chooseRows returns the handler that leaves rows of a prepared job out, or puts them back.
func (o *Operator) chooseRows(
	do func(*bulk.Store, context.Context, audit.Actor, int64, []int64) (bulk.Job, error),
) wire.Handler[account.Token] {
	return func(w http.ResponseWriter, r *http.Request, t account.Token) error {
		var b struct {
			Positions []int64 `json:"positions"`
		}
		if _, err := decode(w, r, &b); err != nil {
			return err
		}
		j, err := o.bulkFor(r, t)
		if err != nil {
			return err
		}
		if j, err = do(o.Bulk, r.Context(), actor(t), j.ID, b.Positions); err != nil {
			return err
		}
		return o.answerBulk(w, r, http.StatusOK, j)
	}
}
