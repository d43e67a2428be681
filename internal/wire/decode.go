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

// DefaultBodyLimit is the size of the largest body that is read unless told otherwise.
const DefaultBodyLimit = 1 << 20

// Decoder reads request bodies. The zero value is ready.
type Decoder struct {
	Limit    int64 // most bytes that are read; DefaultBodyLimit when not positive
	JSONOnly bool  // forms are refused as an unsupported type

	// IgnoreUnknown lets members through that dst does not have, as OAuth demands.
	IgnoreUnknown bool

	// ReadOnly is the resource as it is answered, a struct or nil. Members that it
	// has and dst has not are ignored, so that what was read can be sent back.
	ReadOnly any
}

// Decode reads a JSON or form body into dst; see Decoder.Decode.
func Decode(w http.ResponseWriter, r *http.Request, dst any) error {
	_, err := Decoder{}.Decode(w, r, dst)
	return err
}

// DecodeJSON reads a JSON body into dst and refuses forms. It also returns the
// body as it was sent, for those who compare requests by it.
func DecodeJSON(w http.ResponseWriter, r *http.Request, dst any) ([]byte, error) {
	return Decoder{JSONOnly: true}.Decode(w, r, dst)
}

// Decode reads the body of r into the struct that dst points to, and returns
// the body as it was sent.
//
// The json tags of the struct name its members, for JSON and for forms alike:
// strings, whole numbers and booleans, or pointers to them where it matters
// whether one was given; in JSON also structs, slices and Time. Names are
// compared exactly. A member that the struct does not have is a fault that names
// the nearest one, see unknownParameter; one that is null was not given; one that
// is given twice, or is of another type, is a fault that names it.
//
// An empty body is no fault and leaves dst as it is: the request asks for
// nothing, and the caller decides what that means. A body that cannot be read
// is always a fault.
//
// The content type says how to read. Only a body that is not of its declared
// type is tried as the other one, and only taken if it then has a member that
// dst knows.
func (d Decoder) Decode(w http.ResponseWriter, r *http.Request, dst any) ([]byte, error) {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("decode a body into %T, which is not a pointer to a struct", dst)
	}
	body, err := d.read(w, r)
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

// read reads the whole body, or refuses it.
func (d Decoder) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
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
		// The rest of the body is not worth reading, so the connection ends here.
		w.Header().Set("Connection", "close")
		return nil, fault.New(fault.TooLarge, codeBodyTooLarge, "The body is larger than %d bytes, the limit. Send a smaller one.", limit)
	}
	return body, nil
}

// format is what a body is, or is said to be.
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

// parse reads body as declared, or else as the other type where that makes sense.
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

// formOf reads body as a form. What begins like JSON is none, although nearly
// every text can be read as one: in a form, the brace would have been
// percent-encoded.
func formOf(body []byte) (url.Values, bool) {
	if strings.ContainsRune(`{["`, rune(body[0])) {
		return nil, false
	}
	values, err := url.ParseQuery(string(body))
	return values, err == nil
}

// invalidForm is the fault of a body that is said to be a form.
func invalidForm() error {
	return invalidBody("The body is not a form: it needs name=value pairs joined by &, with other characters percent-encoded.")
}

// invalidBody is the fault of a body that cannot be understood.
func invalidBody(text string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, CodeInvalidBody, text, args...)
}
