package wire

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"claviger/internal/fault"
)

// decodeForm decodes form values into the struct v.
func (d Decoder) decodeForm(values url.Values, v reflect.Value) error {
	s := shapeOf(v.Type())
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, known := s.fields[name]; !known && !d.ignores("", name) {
			return unknownParameter("member", "", name, s.names)
		}
	}
	for _, name := range s.names {
		given := values[name]
		if len(given) == 0 {
			continue
		}
		if len(given) > 1 {
			return twice(name)
		}
		if !utf8.ValidString(given[0]) {
			return notText(name)
		}
		if err := checkText(given[0], name); err != nil {
			return err
		}
		if err := setText(v.FieldByIndex(s.fields[name]), given[0], name); err != nil {
			return err
		}
	}
	return nil
}

// setText sets v, the member name, to a form value.
func setText(v reflect.Value, text, name string) error {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return setText(v.Elem(), text, name)
	case reflect.String:
		v.SetString(text)
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return setInt(v, text, name)
	case reflect.Bool:
		return setBool(v, text, name)
	default:
		if v.Type() == timeType {
			return setTime(v, text, name)
		}
		return invalidBody("%s cannot be given in a form. Send application/json.", name).On(name)
	}
}

// setInt sets a whole number from the digits that JSON and forms share.
func setInt(v reflect.Value, text, path string) error {
	n, err := strconv.ParseInt(text, 10, v.Type().Bits())
	switch {
	case errors.Is(err, strconv.ErrRange):
		return invalidBody("%s is out of range.", path).On(path)
	case err != nil || strings.HasPrefix(text, "+"):
		return invalidBody("%s must be %s.", path, aWhole).On(path)
	}
	v.SetInt(n)
	return nil
}

func setBool(v reflect.Value, text, path string) error {
	switch text {
	case "true", "1":
		v.SetBool(true)
	case "false", "0":
		v.SetBool(false)
	default:
		return invalidBody("%s must be true or false.", path).On(path)
	}
	return nil
}

func setTime(v reflect.Value, text, path string) error {
	t, err := ParseTime(text)
	if err != nil {
		return fault.Field(path, "must be a timestamp such as 2026-01-31T12:00:00Z.")
	}
	v.Set(reflect.ValueOf(Time(t)))
	return nil
}

var timeType = reflect.TypeFor[Time]()

// shape has the members of a struct, by their json tags.
type shape struct {
	names  []string // in the order of the struct
	fields map[string][]int
}

// shapes caches the shape of each type. There are as many as the APIs have bodies, and computing
// one costs more than decoding a small body.
var shapes sync.Map

// shapeOf finds the members of a struct type. Fields without a json tag, or with "-", are none.
// Untagged embedded structs contribute theirs.
func shapeOf(t reflect.Type) shape {
	if known, ok := shapes.Load(t); ok {
		return known.(shape)
	}
	s := shape{fields: make(map[string][]int)}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		s.names = append(s.names, name)
		s.fields[name] = f.Index
	}
	shapes.Store(t, s)
	return s
}

// ignores reports whether an unknown member is ignored. Only the top level, with an empty prefix,
// has read-only members.
func (d Decoder) ignores(prefix, name string) bool {
	if d.IgnoreUnknown || d.ReadOnly == nil || prefix != "" {
		return d.IgnoreUnknown
	}
	_, readOnly := shapeOf(reflect.TypeOf(d.ReadOnly)).fields[name]
	return readOnly
}

// inForm reports whether a form has a member that s knows.
func (s shape) inForm(values url.Values) bool {
	for name := range values {
		if _, known := s.fields[name]; known {
			return true
		}
	}
	return false
}

// errKnown ends the search of inJSON.
var errKnown = errors.New("known")

// inJSON reports whether a valid JSON text is an object with a member that s knows.
func (s shape) inJSON(body []byte) bool {
	if body[0] != '{' {
		return false
	}
	err := members(body, func(name string, _ []byte) error {
		if _, known := s.fields[name]; known {
			return fmt.Errorf("%s: %w", name, errKnown)
		}
		return nil
	})
	return errors.Is(err, errKnown)
}
