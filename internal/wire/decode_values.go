package wire

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"unicode/utf8"
)

// Values decodes a JSON or form body as form values, for a request that means the same in the
// query. JSON members other than strings keep their notation, and null is left out. Repeated
// members stay repeated; the caller refuses them. As in Decode, the content type may be wrong.
func (d Decoder) Values(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	body, err := d.body(w, r)
	if err != nil {
		return nil, err
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if len(text) == 0 {
		return url.Values{}, nil
	}
	declared, err := d.declared(r.Header)
	if err != nil {
		return nil, err
	}
	if values, ok := formOf(text); ok {
		return values, nil
	}
	if err := checkJSON(text); err != nil {
		if declared == inForm {
			return nil, invalidForm()
		}
		return nil, err
	}
	if text[0] != '{' {
		return nil, invalidBody("The body must be a JSON object, not %s.", kindOf(text))
	}
	values := url.Values{}
	err = members(text, func(name string, value []byte) error {
		given := string(value)
		switch kindOf(value) {
		case "null":
			return nil
		case aString:
			if given, err = textOf(value, short(name)); err != nil {
				return err
			}
		default:
			if !utf8.Valid(value) {
				return notText(short(name))
			}
		}
		values.Add(name, given)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the members of a body: %w", err)
	}
	return values, nil
}
