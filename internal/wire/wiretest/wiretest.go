// Package wiretest is what the tests of the JSON APIs share: conversations
// kept as text, and a check of every exchange against the OpenAPI document. It
// is linked into tests only.
//
// # Conversations
//
// A conversation is a txtar file: requests and the answers they must get, in
// order, each in its own section. Run plays it, and with the flag -update
// rewrites the answers. The text before the first section says what it shows.
//
//	A contact is added once.
//
//	-- request: add Anna --
//	POST /v2/profile/contact
//	Authorization: Bearer {{api_key}}
//	Content-Type: application/json
//
//	{"email":"anna@example.com","name":"Anna"}
//	-- answer --
//	201
//	Content-Type: application/json
//
//	{
//	  "contact_id": 1,
//	  "name": "Anna",
//	  "email": "anna@example.com",
//	  "created_at": "<time-1>",
//	  "updated_at": "<time-1>"
//	}
//	-- keep --
//	contact = contact_id
//	-- request: and deleted --
//	DELETE /v2/profile/contact/{{contact}}
//	Authorization: Bearer {{api_key}}
//	-- answer --
//	200
//	Content-Type: text/plain; charset=utf-8
//
//	Contact deleted
//
// A request is a line with method and path, header lines, and after an empty
// line the body, without its last newline. A body that cannot be written as
// text is one Go string behind the word quoted: quoted "{\"name\":\"\xff\"}".
// {{name}} stands for a variable of the Stage or a value kept from an answer.
//
// An answer is the status, those headers that matter (see Stage.Headers), and
// the body; JSON is indented for reading. What differs from run to run is shown
// as a placeholder, numbered in order of appearance, the same value always by
// the same one: <uuid-1>, <time-1>, <secret-1>; request ids are <request-id>.
// Values of the Stage's variables that are long enough not to be there by
// chance are shown as {{name}}.
//
// keep takes values out of the answer before it: the path of a member (dots
// between names, arrays by index: items.0.license_key) or "header" and a name.
package wiretest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// Serve serves h over real HTTP for one test and returns its URL. Errors that
// the sender is not shown are written to the test's log.
func Serve(t testing.TB, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, note := wire.Begin(r.Context(), wire.NewRequestID(), "")
		w.Header().Set("X-Request-Id", note.ID)
		h.ServeHTTP(w, r.WithContext(ctx))
		if note.Err != nil && fault.Of(note.Err) == nil && !note.Gone {
			t.Logf("%s %s: %v", r.Method, r.URL.Path, note.Err)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}
