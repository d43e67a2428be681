package operator

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/idempotency"
	"claviger/internal/validate"
	"claviger/internal/wire"
)

// Limits of this API's input.
const (
	maxAmount = 1_000_000_000_000
	maxText   = 255
)

// maxBody is the maximum size of a body, far more than ours need.
const maxBody = 64 << 10

// decode reads a JSON body into dst and also returns its bytes.
func decode(w http.ResponseWriter, r *http.Request, dst any) ([]byte, error) {
	return wire.Decoder{Limit: maxBody, JSONOnly: true}.Decode(w, r, dst)
}

// decodeChange reads the body of a PUT or a PATCH into dst. Read-only members of resource, the
// answer of GET, are ignored.
func decodeChange(w http.ResponseWriter, r *http.Request, dst, resource any) error {
	_, err := wire.Decoder{Limit: maxBody, JSONOnly: true, ReadOnly: resource}.Decode(w, r, dst)
	return err
}

// noMembers reads the body of a request without members: it is empty or {}.
func noMembers(w http.ResponseWriter, r *http.Request) error {
	_, err := decode(w, r, &struct{}{})
	return err
}

// pathID returns the id in the path, or 0. Nothing has the id 0, so the domain package answers as
// for any missing id.
func pathID(r *http.Request) int64 {
	id, _ := wire.PathID(r, "id")
	return id
}

// mayTime is an optional time on the wire; "" if it is zero.
type mayTime time.Time

// MarshalJSON writes t as wire.Time does, and the zero time as "".
func (t mayTime) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte(`""`), nil
	}
	return wire.Time(t).MarshalJSON()
}

// idempotencyOf identifies a request to recognise repeats. Method, path and body are hashed
// together: the same key on another path is another request.
func idempotencyOf(r *http.Request, t account.Token, body []byte) (idempotency.Request, error) {
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) == 0 {
		return idempotency.Request{}, nil
	}
	if len(keys) > 1 {
		return idempotency.Request{}, fault.New(fault.Invalid, idempotency.CodeInvalidIdempotencyKey,
			"Idempotency-Key is sent %d times; send it once.", len(keys)).
			On("Idempotency-Key")
	}
	h := sha256.New()
	h.Write([]byte(r.Method + " " + strings.TrimSuffix(r.URL.Path, "/") + "\n"))
	h.Write(body)
	req := idempotency.Request{Scope: name(t), Key: keys[0], Body: hex.EncodeToString(h.Sum(nil))}
	return req, req.Valid()
}

// mustRepeat refuses a request about money if a repeat could not be recognised.
func mustRepeat(req idempotency.Request, externalID string) error {
	if req.Key == "" && externalID == "" {
		return fault.New(fault.Invalid, codeIdempotencyRequired,
			"Send an Idempotency-Key header or an external_id, so that a repeated request is not carried out twice.")
	}
	return nil
}

// text checks an optional one-line text and trims it.
func text(name, value string) (string, error) { return validate.Line(name, value, 0, maxText) }

// number checks an integer of a body.
func number(name string, value, low, high int64) error {
	if value < low || value > high {
		return fault.Field(name, "must be a whole number from %d to %d.", low, high)
	}
	return nil
}

// partnerID checks that a body names a partner; the domain package checks that it exists.
func partnerID(id int64) error {
	if id < 1 {
		return fault.Field("partner_id", "must be the id of a partner.")
	}
	return nil
}

// currency checks an optional currency.
func currency(value string) error {
	if value == "" {
		return nil
	}
	return validate.Currency("currency", value)
}

// naturalParam reads an optional integer of the query, 0 if it is missing.
func naturalParam(q url.Values, name string, low int64) (int64, error) {
	if q.Get(name) == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(q.Get(name), 10, 63)
	if err != nil || int64(n) < low {
		return 0, fault.Parameter(name, "must be a whole number from %d.", low)
	}
	return int64(n), nil
}
