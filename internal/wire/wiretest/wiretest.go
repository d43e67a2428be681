// Package wiretest helps to test the JSON APIs: it plays conversations stored as text, and checks
// every exchange against the OpenAPI document. Only tests link it.
//
// # Conversations
//
// A conversation is a txtar file: requests and the answers they must get, in order, each in its own
// section. Run plays it, and with the flag -update rewrites the answers. The text before the first
// section describes it.
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
// A request is a line with method and path, header lines, and after an empty line the body, without
// its last newline. A body that cannot be written as text is one Go string behind the word quoted:
// quoted "{\"name\":\"\xff\"}". {{name}} stands for a variable of the Stage or a value kept from an
// answer.
//
// An answer is the status, the relevant headers (see Stage.Headers), and the body; JSON is indented
// for reading. Volatile values are shown as placeholders, numbered in order of appearance. Equal
// values have the same placeholder: <uuid-1>, <time-1>, <secret-1>; request ids are <request-id>.
// Values of the Stage's variables are shown as {{name}}, if they are too long to occur by chance.
//
// keep stores values of the answer before it: the path of a member (dots between names, arrays by
// index: items.0.license_key) or "header" and a name.
package wiretest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// Serve serves h over real HTTP for one test and returns its URL. Internal errors are written to
// the test's log.
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
