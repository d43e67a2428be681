package ui

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"time"
)

// Flash stores a text for the next page of this browser; Render shows and removes it.
func (s *Sessions) Flash(ctx context.Context, text string) { s.scs.Put(ctx, keyFlash, text) }

// flash returns the session's text for the next page, and a function that removes it. Without a
// session there is none.
func flash(ctx context.Context) (text string, remove func()) {
	s, ok := ctx.Value(sessionsKey{}).(*Sessions)
	if !ok {
		return "", func() {}
	}
	return s.scs.GetString(ctx, keyFlash), func() { s.scs.Remove(ctx, keyFlash) }
}

// A form that succeeds answers with a redirect. Data for the next page that must not be in its URL
// goes into a cookie for that path only: most people who request an email have no session, and the
// request creates none.
const (
	noteCookie = "claviger-note"
	noteLife   = time.Hour
)

// SetNote stores a text for the page at a path. The text survives a reload.
func (p *Pages) SetNote(w http.ResponseWriter, path, text string) {
	http.SetCookie(w, &http.Cookie{
		Name: noteCookie, Value: base64.RawURLEncoding.EncodeToString([]byte(text)), Path: path,
		MaxAge:   int(noteLife / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: strings.HasPrefix(p.PublicURL, "https://"),
	})
}

// Note returns the text stored for the requested page, "" if there is none. It came from the
// browser: trust it no more than a form.
func Note(r *http.Request) string {
	c, err := r.Cookie(noteCookie)
	if err != nil {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return ""
	}
	return string(text)
}
