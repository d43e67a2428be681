package ui

import (
	"bytes"
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
	To   string // an http or https URL; html/template lets no other through
	Wait func() // ends with the request's context at the latest
}

// refresh is where the end of such a page begins. Nothing that is shown can look
// like it: what templates insert has its "<" escaped.
const refresh = `<meta http-equiv="refresh"`

// errNoRefresh is the error of a page that waits and then redirects nowhere.
var errNoRefresh = errors.New("it has a DelayedRedirect and no " + refresh + " in its template")

// split returns how much of the page is sent before the wait: all of it without a
// redirect.
func (o *DelayedRedirect) split(page []byte) (int, error) {
	if o == nil {
		return len(page), nil
	}
	end := bytes.LastIndex(page, []byte(refresh))
	if end < 0 {
		return 0, errNoRefresh
	}
	return end, nil
}

// send writes a page: up to end, then, after the wait, the rest.
func (o *DelayedRedirect) send(w http.ResponseWriter, r *http.Request, page []byte, end int) error {
	if o != nil {
		if _, err := w.Write(page[:end]); err != nil {
			return err
		}
		// Where nothing can be flushed, the page comes whole after the wait.
		_ = http.NewResponseController(w).Flush()
		o.Wait()
		if err := r.Context().Err(); errors.Is(err, context.Canceled) {
			return err // the client has disconnected
		}
		page = page[end:]
	}
	_, err := w.Write(page)
	return err
}
