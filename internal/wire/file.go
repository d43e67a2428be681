package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// File describes an answer that people save.
type File struct {
	Name        string // unescaped; must need no escapes
	ContentType string
}

// pieceTimeout is the timeout for sending a piece of a file.
const pieceTimeout = 30 * time.Second

// SendFile answers with a file that write produces piece by piece, at the client's speed. Nothing
// is answered before the first piece, so an earlier error is answered normally. A later error cuts
// the connection: a part must not look like the whole.
//
// The caller's share of readers and bytes is released immediately: write must hold no database
// resources while the client reads.
func SendFile(
	w http.ResponseWriter,
	r *http.Request,
	f File,
	write func(ctx context.Context, to io.Writer) error,
) error {
	if a, ok := w.(*answering); ok {
		a.finish()
	}
	to := &fileWriter{w: w, control: http.NewResponseController(w), file: f}
	if r.Method == http.MethodHead {
		to.begin()
		return nil
	}
	note := RequestLogOf(r.Context())
	note.Stream = true
	ctx := Unbounded(r.Context())
	err := write(ctx, to)
	if err == nil || !to.begun {
		return err
	}
	note.Err = err
	if _, broken := errors.AsType[*sendError](err); broken || errors.Is(ctx.Err(), context.Canceled) {
		note.Gone = true
	}
	panic(http.ErrAbortHandler)
}

// fileWriter sends pieces immediately. A client that does not read is cut off.
type fileWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	file    File
	begun   bool
}

func (o *fileWriter) begin() {
	o.begun = true
	h := o.w.Header()
	h.Set("Content-Type", o.file.ContentType)
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", o.file.Name))
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no")
	o.w.WriteHeader(http.StatusOK)
}

// Write sends a piece.
func (o *fileWriter) Write(b []byte) (int, error) {
	if !o.begun {
		_ = o.control.SetReadDeadline(time.Time{}) // the transfer may outlast the read deadline
		o.begin()
	}
	const most = 64 << 10
	sent := 0
	for sent < len(b) {
		// A writer without deadlines, as in tests, has no slow client.
		_ = o.control.SetWriteDeadline(time.Now().Add(pieceTimeout))
		n, err := o.w.Write(b[sent:min(sent+most, len(b))])
		sent += n
		if err != nil {
			return sent, &sendError{err}
		}
	}
	if err := o.control.Flush(); err != nil {
		return sent, &sendError{err}
	}
	return sent, nil
}
