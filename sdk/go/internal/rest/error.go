package rest

import (
	"encoding/json"
	"fmt"
	"time"
)

// Error is a refusal by the service.
type Error struct {
	Status    int    `json:"-"`          // of HTTP
	Code      string `json:"error"`      // stable, for programs
	Message   string `json:"message"`    // the mistake and its remedy, for people
	Field     string `json:"field"`      // the parameter or member at fault; "": none
	RequestID string `json:"request_id"` // quote it when you ask the marketplace

	// Checks is the transcript of a refused URL.
	Checks []json.RawMessage `json:"checks"`
}

// Error describes the refusal.
func (e *Error) Error() string {
	return fmt.Sprintf("claviger: %s (%d %s, request %s)", e.Message, e.Status, e.Code, e.RequestID)
}

// errorOf reads a refusal. One from another source, such as a proxy, has no code.
func errorOf(r Request, resp *Response) *Error {
	e := &Error{}
	if err := json.Unmarshal(resp.Body, e); err != nil || e.Code == "" {
		e = &Error{
			Message:   fmt.Sprintf("%s %s was not answered by the service", r.Method, r.Path),
			RequestID: resp.Header.Get("X-Request-Id"),
		}
	}
	e.Status = resp.Status
	return e
}

// Time is a time that may be missing: then it is zero, and "" in JSON.
type Time struct{ time.Time }

// UnmarshalJSON reads a time or "".
func (t *Time) UnmarshalJSON(text []byte) error {
	if string(text) == `""` {
		*t = Time{}
		return nil
	}
	return json.Unmarshal(text, &t.Time)
}

// MarshalJSON writes a time or "".
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte(`""`), nil
	}
	return json.Marshal(t.Time)
}
