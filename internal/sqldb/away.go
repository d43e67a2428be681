package sqldb

import (
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/ncruces/go-sqlite3"
)

// awayError means that the database is unreachable or accepts no work now. The statement may or may
// not have run; a retry may succeed.
type awayError struct{ error }

func (e *awayError) Unwrap() error { return e.error }

// Unavailable marks the error for HTTP code, which knows nothing about databases.
func (e *awayError) Unavailable() bool { return true }

// tellAway wraps err in an awayError if it means that the database is unavailable.
func tellAway(err error) error {
	if err == nil || !away(err) {
		return err
	}
	return &awayError{err}
}

// IsUnavailable reports whether err means that the database is unreachable or accepts no work now.
// Such an error says nothing about the statement itself.
func IsUnavailable(err error) bool {
	_, ok := errors.AsType[*awayError](err)
	return ok
}

// Sentence tells clients the reason, if it is more than an outage of a moment; otherwise it is "".
func (e *awayError) Sentence() string {
	_, server := errors.AsType[*pgconn.PgError](e.error)
	switch why := WhyUnwritable(e.error); {
	case errors.Is(e.error, ErrMoved):
		return "The database of this service is not in its place, so nothing can be stored. " +
			"Someone has to repair that; try again later."
	case why == diskFull:
		return "The disk of this service is full, so nothing can be stored. Someone has to free space; try again later."
	case why != "" && server:
		return "The database of this service is read-only now, so nothing can be stored. Try again later."
	case why != "":
		return "The disk of this service is read-only, so nothing can be stored. " +
			"Someone has to repair that; try again later."
	}
	return ""
}

func away(err error) bool {
	if errors.Is(err, ErrMoved) {
		return true
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case strings.HasPrefix(e.Code, "08"), strings.HasPrefix(e.Code, "53"), strings.HasPrefix(e.Code, "58"):
			return true // connection, resources, or disk of the server
		case strings.HasPrefix(e.Code, "57"), e.Code == "25P03", e.Code == "25006":
			return true // shutting down or starting, too slow, ended while idle, or no longer the primary
		}
		return false
	}
	for _, code := range []sqlite3.ErrorCode{
		sqlite3.BUSY, sqlite3.INTERRUPT, sqlite3.FULL, sqlite3.IOERR, sqlite3.READONLY, sqlite3.CANTOPEN,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	if _, ok := errors.AsType[*sqlite3.Error](err); ok {
		return false // sqlite3.Error also implements net.Error
	}
	_, network := errors.AsType[net.Error](err)
	_, connect := errors.AsType[*pgconn.ConnectError](err)
	return network || connect || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) ||
		pgconn.SafeToRetry(err)
}
