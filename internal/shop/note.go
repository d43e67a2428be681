package shop

import (
	"encoding/base64"
	"net/http"
	"strings"
	"time"
)

// A form that worked answers 303. What the page after it has to know and no
// address may tell travels in a cookie of that page alone: most who ask for a mail
// have no session, and asking is no reason for one.
const (
	noteCookie = "claviger-note"
	noteLife   = time.Hour
)

// leave notes text for the page at a path, which can then be loaded again.
func (s *Shop) leave(w http.ResponseWriter, path, text string) {
	http.SetCookie(w, &http.Cookie{
		Name: noteCookie, Value: base64.RawURLEncoding.EncodeToString([]byte(text)), Path: path, MaxAge: int(noteLife / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: strings.HasPrefix(s.Pages.PublicURL, "https://"),
	})
}

// left is what was noted for the page of the request, "" when nothing was. It came
// by way of the browser: it is a word of the visitor's and no more.
func left(r *http.Request) string {
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
