package operator

import (
	"net/http"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/wire"
)

// beginningJSON is the moment from which sales count, on the wire.
type beginningJSON struct {
	From    mayTime `json:"from"`
	Moving  bool    `json:"moving"`
	FinalAt mayTime `json:"final_at"`
}

func beginningOf(b ledger.Beginning) beginningJSON {
	return beginningJSON{mayTime(b.From), b.Moving(), mayTime(b.PaidAt)}
}

// ledgerFrom answers with the moment from which sales count.
func (o *Operator) ledgerFrom(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	b, err := ledger.ReadBeginning(r.Context(), o.Service.DB)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, beginningOf(b))
}

// moveBody is a new moment from which sales count.
type moveBody struct {
	From *wire.Time `json:"from"`
}

func (o *Operator) moveLedgerFrom(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var body moveBody
	if _, err := decode(w, r, &body); err != nil {
		return err
	}
	if body.From == nil {
		return fault.Field("from", "is missing. Send the moment from which sales count.")
	}
	b, err := o.Accounting.MoveFrom(r.Context(), actor(t), time.Time(*body.From))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, beginningOf(b))
}
