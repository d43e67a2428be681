package ui

import (
	"context"
	"errors"
	"net/http"
)

// DelayedRedirect makes a page that is visible during a wait and then redirects. All but the end of
// the page is sent, Wait is called, and the end contains the target. Browsers show a partial page
// and obey its refresh when they read it. So this needs no script and no second request.
type DelayedRedirect struct {
	To   string // an http or https URL; no other is sent
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
	// Without flush support, the complete page comes after the wait.
	_ = http.NewResponseController(w).Flush()
	o.Wait()
	if err := r.Context().Err(); errors.Is(err, context.Canceled) {
		return err // the client has disconnected
	}
	_, err := w.Write(end)
	return err
}
