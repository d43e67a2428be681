package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ncruces/go-sqlite3"
)

func TestAwayIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		away bool
	}{
		"the server shuts down":     {&pgconn.PgError{Code: "57P01"}, true},
		"too many connections":      {&pgconn.PgError{Code: "53300"}, true},
		"idle in a transaction":     {&pgconn.PgError{Code: "25P03"}, true},
		"no longer the primary":     {&pgconn.PgError{Code: "25006"}, true},
		"a statement took too long": {&pgconn.PgError{Code: "57014"}, true},
		"a duplicate":               {&pgconn.PgError{Code: "23505"}, false},
		"a wrong statement":         {&pgconn.PgError{Code: "42601"}, false},
		"the connection broke":      {fmt.Errorf("commit: %w", io.ErrUnexpectedEOF), true},
		"the network":               {&net.OpError{Op: "dial", Err: errors.New("refused")}, true},
		"the disk is full":          {sqlite3.FULL, true},
		"another program writes":    {sqlite3.BUSY, true},
		"a breach of a constraint":  {sqlite3.CONSTRAINT, false},
		"the request is over":       {context.Canceled, false},
		"any other":                 {errors.New("boom"), false},
	} {
		err := tellAway(fmt.Errorf("do: %w", c.err))
		told, ok := errors.AsType[interface {
			error
			Unavailable() bool
		}](err)
		if got := ok && told.Unavailable(); got != c.away {
			t.Errorf("%s: away is %v, want %v", name, got, c.away)
		}
		if !errors.Is(err, c.err) {
			t.Errorf("%s: the cause is lost", name)
		}
	}
	if tellAway(nil) != nil {
		t.Error("nil is an error")
	}
}
