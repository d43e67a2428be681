package signin

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/secret"
	"claviger/internal/validate"
)

// After a sign-in, the browser is known for that address. It has its own queue for hashing
// passwords, and its attempts are counted separately. So strangers who try to sign in, in any
// number, do not block known browsers. The cookie does nothing else: it signs no one in, and a
// thief gains ten attempts a minute.
const knownLife = 180 * 24 * time.Hour

// knownLabel binds the sealed text to this use.
const knownLabel = "known browser"

// knownCookie returns the cookie's name. Browsers accept one with the prefix only from this host,
// over https.
func (h *Handler) knownCookie() string {
	if h.secure() {
		return "__Host-claviger-known"
	}
	return "claviger-known"
}

func (h *Handler) secure() bool { return strings.HasPrefix(h.Site.Pages.PublicURL, "https://") }

// signUserIn makes this the session of a user after all steps of a sign-in, and their browser a
// known one. The first sign-in of an account sends no email.
func (h *Handler) signUserIn(w http.ResponseWriter, r *http.Request, e account.Entry) error {
	u := e.User
	begins := e.First || e.Purpose == account.ForSignUp
	if err := h.Site.SignIn(r, e, h.Now(), !begins && h.knownBrowser(r, u.Email) == ""); err != nil {
		return err
	}
	h.setKnownCookie(w, u)
	return nil
}

// setKnownCookie makes this a known browser of the user.
func (h *Handler) setKnownCookie(w http.ResponseWriter, u account.User) {
	if u.Email == "" || h.Sealer == nil {
		return
	}
	text := strings.Join([]string{
		secret.Hash(validate.EmailKey(u.Email)), secret.Make("")[:16], strconv.FormatInt(h.Now().Unix(), 10),
	}, " ")
	http.SetCookie(w, &http.Cookie{
		Name: h.knownCookie(), Value: h.Sealer.Seal(knownLabel, text), Path: "/", MaxAge: int(knownLife / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: h.secure(),
	})
}

// knownBrowser returns the name under which this browser's attempts are counted, or "" if it was
// never used to sign in with this address.
func (h *Handler) knownBrowser(r *http.Request, email string) string {
	c, err := r.Cookie(h.knownCookie())
	if err != nil || h.Sealer == nil {
		return ""
	}
	text, err := h.Sealer.Open(knownLabel, c.Value)
	words := strings.Fields(text)
	if err != nil || len(words) != 3 || words[0] != secret.Hash(validate.EmailKey(email)) {
		return ""
	}
	at, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil || h.Now().Sub(time.Unix(at, 0)) > knownLife {
		return ""
	}
	return "browser " + words[1]
}
