package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"reflect"
)

// Each reads a body of several JSON objects and returns them separately, for Item. The body is an
// array (application/json) or one object per line (application/x-ndjson), which lines reports. The
// objects on lines are not checked yet.
func (d Decoder) Each(w http.ResponseWriter, r *http.Request) (items [][]byte, lines bool, err error) {
	body, err := d.body(w, r)
	if err != nil {
		return nil, false, err
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && kind == NDJSON {
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				items = append(items, line)
			}
		}
		return items, true, nil
	}
	if _, err := d.declared(r.Header); err != nil {
		return nil, false, err
	}
	if err := checkJSON(text); err != nil {
		return nil, false, err
	}
	if text[0] != '[' {
		return nil, false, invalidBody(
			"The body must be a JSON array, not %s, or have an object on each line as %s.",
			kindOf(text),
			NDJSON,
		)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, false, fmt.Errorf("read a JSON array: %w", err)
	}
	for _, item := range list {
		items = append(items, item)
	}
	return items, false, nil
}

// Item decodes one of the objects that Each returned into the struct that dst points to; see
// Decode.
func (d Decoder) Item(item []byte, dst any) error {
	if err := checkJSON(item); err != nil {
		return err
	}
	return d.decodeJSON(item, reflect.ValueOf(dst).Elem())
}
