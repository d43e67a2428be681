package sqldb

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"time"
)

// Intervals of a listener.
const (
	pingEvery     = 5 * time.Second        // to itself; an unheard ping means that messages are lost
	relistenAfter = time.Second            // after a failure to connect
	deafEvery     = 100 * time.Millisecond // how often a listener without messages is told to look
)

// Listen calls hear with each message that Notify sends to a channel, until ctx ends. hear("")
// means that messages may have been missed. It comes when listening begins and after each
// interruption. It also comes often if no messages arrive, as behind a pooler that gives each
// transaction another session. SQLite has no messages; there it comes when another process has
// committed. hear must not block.
func (db *DB) Listen(ctx context.Context, channel string, hear func(message string)) error {
	return db.engine.listen(ctx, channel, hear)
}

// Notify sends messages to all listeners of a channel, in its own transaction. On SQLite it does
// nothing: other processes see the commit.
func (db *DB) Notify(ctx context.Context, channel string, messages ...string) error {
	if len(messages) == 0 {
		return nil
	}
	return tellAway(db.engine.notify(ctx, channel, messages))
}

func notification(channel string, messages []string) *statement {
	return &statement{
		sql:  `SELECT pg_notify($1, message) FROM unnest(CAST($2 AS TEXT[])) AS message`,
		args: []any{channel, messages},
	}
}

func (p *postgres) notify(ctx context.Context, channel string, messages []string) error {
	return p.query(ctx, notification(channel, messages))
}

func (l *sqlite) notify(context.Context, string, []string) error { return nil }

// listener is one call of Listen on PostgreSQL.
type listener struct {
	engine  *postgres
	channel string
	hear    func(string)
	log     *slog.Logger
	unheard int  // connections in a row that did not hear their first ping
	told    bool // the lack of messages is logged
}

// errUnheard means that a ping to itself did not arrive.
var errUnheard = errors.New("a message to this connection itself did not arrive")

func (p *postgres) listen(ctx context.Context, channel string, hear func(string)) error {
	l := &listener{engine: p, channel: channel, hear: hear, log: p.log}
	if p.pooled && !p.direct {
		return l.poll(ctx)
	}
	for ctx.Err() == nil {
		err := l.once(ctx)
		if ctx.Err() != nil || errors.Is(err, errUnheard) {
			continue
		}
		l.log.Debug("the connection that listens was lost", "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(relistenAfter):
		}
	}
	return context.Cause(ctx)
}

// poll tells the listener to look all the time: no message passes a pooler.
func (l *listener) poll(ctx context.Context) error {
	l.log.Warn("a pooler is before the database, and messages between nodes do not pass it; the database is asked " +
		"instead, ten times a second; set db-direct-url to the address of the database itself")
	for ctx.Err() == nil {
		l.hear("")
		_ = rest(ctx, deafEvery)
	}
	return context.Cause(ctx)
}

// once connects and listens until an error.
func (l *listener) once(ctx context.Context) error {
	conn, err := l.engine.reserve(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // abandoned anyway
	pings := "claviger_ping_" + rand.Text()
	for _, channel := range []string{l.channel, pings} {
		if err := conn.Listen(ctx, channel); err != nil {
			return err
		}
	}
	l.hear("")
	for heard := false; ; heard = true {
		if err := l.untilPing(ctx, conn, pings, heard); err != nil {
			return err
		}
	}
}

// untilPing sends a ping and forwards messages until the next one is due. It fails if the ping has
// not arrived by then. If the first pings on two connections in a row are lost, the listener is
// told to look often.
func (l *listener) untilPing(ctx context.Context, conn *Reserved, pings string, heard bool) error {
	due := time.Now().Add(l.engine.ping)
	if err := l.ping(ctx, conn, pings); err != nil {
		return err
	}
	for arrived := false; ; {
		until := due
		if l.unheard > 1 && !arrived {
			l.hear("")
			until = time.Now().Add(deafEvery)
		}
		wait, cancel := context.WithDeadline(ctx, until)
		channel, message, err := conn.Wait(wait)
		cancel()
		switch {
		case ctx.Err() != nil || err != nil && conn.Closed():
			return errors.Join(err, context.Cause(ctx))
		case err == nil && channel == pings:
			arrived = true
			l.arrived()
		case err == nil:
			l.hear(message)
		}
		if time.Now().Before(due) {
			continue
		}
		if !arrived {
			l.missed(heard)
			return errUnheard
		}
		return nil
	}
}

func (l *listener) ping(ctx context.Context, conn *Reserved, pings string) error {
	ctx, cancel := context.WithTimeout(ctx, l.engine.ping)
	defer cancel()
	return conn.Notify(ctx, pings, "")
}

func (l *listener) arrived() {
	l.unheard = 0
	if l.told {
		l.told = false
		l.log.Info("messages between nodes arrive again")
	}
}

// missed counts an unheard ping. If earlier pings of the connection arrived, only the connection is
// lost.
func (l *listener) missed(heard bool) {
	if heard {
		return
	}
	if l.unheard++; l.unheard > 1 && !l.told {
		l.told = true
		l.log.Warn(
			"messages between nodes do not arrive, perhaps for a pooler in transaction mode; the database is asked " +
				"instead, ten times a second",
		)
	}
}
