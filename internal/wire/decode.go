package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"claviger/internal/fault"
)

// DefaultBodyLimit is the default maximum size of a body.
const DefaultBodyLimit = 1 << 20

// Decoder decodes request bodies. The zero value is ready for use.
type Decoder struct {
	Limit    int64 // maximum bytes; DefaultBodyLimit if not positive
	JSONOnly bool  // forms are refused as an unsupported type

	// IgnoreUnknown ignores members that dst does not have, as OAuth demands.
	IgnoreUnknown bool

	// ReadOnly is the answered form of the resource, a struct or nil. Members that it has and dst
	// lacks are ignored, so that a client can send back what it read.
	ReadOnly any
}

// Decode decodes the body of r into the struct that dst points to, and returns the body as sent.
//
// The json tags of the struct name its members, for JSON and for forms: strings, whole numbers and
// booleans, or pointers to them if it matters whether one was given. In JSON they can also be
// structs, slices and Time. Names are compared exactly. An unknown member is a fault that names the
// nearest one, see unknownParameter. A null member counts as missing. A member that is repeated or
// has another type is a fault that names it.
//
// An empty body is no fault and leaves dst unchanged: the request asks for nothing, and the caller
// decides the meaning. An unreadable body is always a fault.
//
// The content type selects the format. A body that does not have its declared type is tried as the
// other one, and accepted only if it then has a member that dst knows.
func (d Decoder) Decode(w http.ResponseWriter, r *http.Request, dst any) ([]byte, error) {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("decode a body into %T, which is not a pointer to a struct", dst)
	}
	body, err := d.body(w, r)
	if err != nil {
		return nil, err
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if len(text) == 0 {
		return body, nil
	}
	declared, err := d.declared(r.Header)
	if err != nil {
		return nil, err
	}
	if err := d.parse(text, declared, v.Elem()); err != nil {
		return nil, err
	}
	return body, nil
}

// body reads the whole body, or refuses it.
func (d Decoder) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	limit := d.Limit
	if limit <= 0 {
		limit = DefaultBodyLimit
	}
	tooLarge := r.ContentLength > limit
	var body []byte
	if !tooLarge {
		var err error
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
		_, tooLarge = errors.AsType[*http.MaxBytesError](err)
		if err != nil && !tooLarge {
			return nil, invalidBody("The body did not arrive whole. Send it again.")
		}
	}
	if tooLarge {
		// The rest of the body is not read, so the connection ends here.
		w.Header().Set("Connection", "close")
		return nil, fault.New(
			fault.TooLarge,
			codeBodyTooLarge,
			"The body is larger than %d bytes, the limit. Send a smaller one.",
			limit,
		)
	}
	return body, nil
}

// format is the actual or declared format of a body.
type format int

const (
	unsaid format = iota
	inJSON
	inForm
)

// declared reads the content type.
func (d Decoder) declared(h http.Header) (format, error) {
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return unsaid, d.unsupported("Compressed bodies are not read.")
	}
	given := h.Get("Content-Type")
	if given == "" {
		return unsaid, nil
	}
	kind, params, err := mime.ParseMediaType(given)
	if err != nil {
		return unsaid, d.unsupported("The content type cannot be read.")
	}
	switch strings.ToLower(params["charset"]) {
	case "", "utf-8", "utf8", "us-ascii":
	default:
		return unsaid, d.unsupported("Bodies are read as UTF-8 only.")
	}
	switch {
	case kind == "application/json":
		return inJSON, nil
	case kind == "application/x-www-form-urlencoded" && !d.JSONOnly:
		return inForm, nil
	}
	return unsaid, d.unsupported("This content type is not read here.")
}

func (d Decoder) unsupported(why string) error {
	accepted := "application/json or application/x-www-form-urlencoded"
	if d.JSONOnly {
		accepted = "application/json"
	}
	return fault.New(fault.Unsupported, codeUnsupportedMediaType, "%s Send %s.", why, accepted)
}

// parse decodes body as declared, or as the other type if that makes sense.
func (d Decoder) parse(body []byte, declared format, v reflect.Value) error {
	s := shapeOf(v.Type())
	if declared == inForm {
		if values, ok := formOf(body); ok {
			return d.decodeForm(values, v)
		}
		if checkJSON(body) == nil && s.inJSON(body) {
			return d.decodeJSON(body, v)
		}
		return invalidForm()
	}
	syntax := checkJSON(body)
	if syntax == nil {
		return d.decodeJSON(body, v)
	}
	if values, ok := formOf(body); ok && !d.JSONOnly && s.inForm(values) {
		return d.decodeForm(values, v)
	}
	return syntax
}

// formOf decodes body as a form. A body that begins like JSON is no form, although nearly every
// text can be parsed as one: in a form, the brace would be percent-encoded.
func formOf(body []byte) (url.Values, bool) {
	if strings.ContainsRune(`{["`, rune(body[0])) {
		return nil, false
	}
	values, err := url.ParseQuery(string(body))
	return values, err == nil
}

// invalidForm returns the fault for a malformed form.
func invalidForm() error {
	return invalidBody(
		"The body is not a form: it needs name=value pairs joined by &, with other characters percent-encoded.",
	)
}

// invalidBody returns the fault for a body that cannot be understood.
func invalidBody(text string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, CodeInvalidBody, text, args...)
}
