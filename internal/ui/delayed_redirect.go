package ui

import (
	"context"
	"errors"
	"net/http"
)

// DelayedRedirect makes a page that is looked at while something is waited for, and from
// which the browser then leaves by itself. The page is sent but for its end;
// Wait is called; the end says where to go. Browsers show what they have of a
// page and obey its refresh when they read it, so this needs no script, and no
// second request.
type DelayedRedirect struct {
	To   string // an http or https URL; no other gets through
	Wait func() // ends with the request's context at the latest
}

// send writes a page and, after the wait, its end.
func (o *DelayedRedirect) send(w http.ResponseWriter, r *http.Request, page, end []byte) error {
	if o == nil {
		_, err := w.Write(append(page, end...))
		return err
	}
	if _, err := w.Write(page); err != nil {
		return err
	}
	// Where nothing can be flushed, the page comes whole after the wait.
	_ = http.NewResponseController(w).Flush()
	o.Wait()
	if err := r.Context().Err(); errors.Is(err, context.Canceled) {
		return err // the client has disconnected
	}
	_, err := w.Write(end)
	return err
}
