package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"claviger/internal/fault"
)

// checkJSON returns a fault with the position at which body is not one JSON value, or nil.
func checkJSON(body []byte) error {
	if json.Valid(body) {
		return nil
	}
	var whole json.RawMessage
	err := json.Unmarshal(body, &whole)
	at := int64(len(body))
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = s.Offset
	}
	return invalidBody("The body is not valid JSON: %s, at %s.", err, position(body, at))
}

// position describes an offset as line and column.
func position(body []byte, offset int64) string {
	before := body[:max(min(offset-1, int64(len(body))), 0)]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

// decodeJSON decodes a valid JSON text into the struct v.
func (d Decoder) decodeJSON(body []byte, v reflect.Value) error {
	if body[0] != '{' {
		return invalidBody("The body must be a JSON object, not %s.", kindOf(body))
	}
	err := d.decodeObject(body, v, "")
	if !utf8.Valid(body) && (err == nil || fault.Is(err, codeUnknownParameter)) {
		// Every value was valid, so the name of a member is not.
		return invalidBody("The body is not valid UTF-8.")
	}
	return err
}

// members calls visit with each member of a valid JSON object, in order. It only searches for the
// end of values: encoding/json would parse each of them once more.
func members(object []byte, visit func(name string, value []byte) error) error {
	at := skipSpace(object, 1)
	for object[at] != '}' {
		if object[at] == ',' {
			at = skipSpace(object, at+1)
		}
		end := valueEnd(object, at)
		name, err := unquote(object[at:end])
		if err != nil {
			return fmt.Errorf("read the name of a member: %w", err)
		}
		at = skipSpace(object, skipSpace(object, end)+1) // past the colon
		end = valueEnd(object, at)
		if err := visit(name, object[at:end]); err != nil {
			return err
		}
		at = skipSpace(object, end)
	}
	return nil
}

// skipSpace returns the index of the first non-space at or after at in a valid JSON text.
func skipSpace(text []byte, at int) int {
	for text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r' {
		at++
	}
	return at
}

// valueEnd returns the end of the value that begins at at in a valid JSON object.
func valueEnd(text []byte, at int) int {
	for depth := 0; ; at++ {
		switch text[at] {
		case '"':
			for at++; text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
			if depth == 0 {
				return at + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at // the end of the object, after a number or a word
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return at
			}
		}
	}
}

// unquote decodes a JSON string. Most are simply the text between the quotes.
func unquote(value []byte) (string, error) {
	if bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value) {
		return string(value[1 : len(value)-1]), nil
	}
	var s string
	err := json.Unmarshal(value, &s)
	return s, err
}

// decodeObject decodes a valid JSON object into the struct v; prefix is its position in the body.
func (d Decoder) decodeObject(object []byte, v reflect.Value, prefix string) error {
	s := shapeOf(v.Type())
	var seen []string
	return members(object, func(name string, value []byte) error {
		index, known := s.fields[name]
		switch {
		case !known && !utf8.Valid(value):
			return notText(prefix + short(name))
		case !known && !d.ignores(prefix, name):
			return unknownParameter("member", prefix, name, s.names)
		case !known:
			return nil
		case slices.Contains(seen, name):
			return twice(prefix + name)
		}
		seen = append(seen, name)
		return d.setJSON(v.FieldByIndex(index), value, prefix+name)
	})
}

// setJSON sets v, the member at path, to a valid JSON value.
func (d Decoder) setJSON(v reflect.Value, value []byte, path string) error {
	if string(value) == "null" {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.setJSON(v.Elem(), value, path)
	case reflect.String:
		s, err := textOf(value, path)
		v.SetString(s)
		return err
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if kindOf(value) != aNumber {
			return wrongType(path, aWhole, value)
		}
		return setInt(v, string(value), path)
	case reflect.Bool:
		if kindOf(value) != aBool {
			return wrongType(path, aBool, value)
		}
		v.SetBool(value[0] == 't')
		return nil
	case reflect.Struct:
		return d.setStruct(v, value, path)
	case reflect.Slice:
		return d.setSlice(v, value, path)
	default:
		return fmt.Errorf("the member %s is a %s, which no body holds", path, v.Type())
	}
}

// setStruct sets a nested object, or a Time.
func (d Decoder) setStruct(v reflect.Value, value []byte, path string) error {
	if v.Type() == timeType {
		s, err := textOf(value, path)
		if err != nil {
			return err
		}
		return setTime(v, s, path)
	}
	if value[0] != '{' {
		return wrongType(path, "an object", value)
	}
	return d.decodeObject(value, v, path+".")
}

// setSlice sets a slice to the elements of an array.
func (d Decoder) setSlice(v reflect.Value, value []byte, path string) error {
	if value[0] != '[' {
		return wrongType(path, "an array", value)
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(value, &elements); err != nil {
		return fmt.Errorf("read the array %s: %w", path, err)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(elements), len(elements)))
	for i, e := range elements {
		at := path + "[" + strconv.Itoa(i) + "]"
		if string(e) == "null" {
			return wrongType(at, "a value", e)
		}
		if err := d.setJSON(v.Index(i), e, at); err != nil {
			return err
		}
	}
	return nil
}

// textOf decodes a JSON string. encoding/json replaces invalid Unicode by U+FFFD; we refuse it, so
// that the stored text is the sent text.
func textOf(value []byte, path string) (string, error) {
	if kindOf(value) != aString {
		return "", wrongType(path, aString, value)
	}
	if !utf8.Valid(value) {
		return "", notText(path)
	}
	s, err := unquote(value)
	if err != nil {
		return "", fmt.Errorf("read the string %s: %w", path, err)
	}
	if n := strings.Count(s, "\ufffd"); n > 0 {
		raw := strings.ToLower(string(value))
		if n > strings.Count(raw, "\ufffd")+strings.Count(raw, `\ufffd`) {
			return "", notText(path)
		}
	}
	return s, checkText(s, path)
}

// Kinds of JSON values, in words.
const (
	aString = "a string"
	aNumber = "a number"
	aBool   = "true or false"
	aWhole  = "a whole number"
)

// kindOf returns the kind of a valid JSON value.
func kindOf(value []byte) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return aString
	case 't', 'f':
		return aBool
	case 'n':
		return "null"
	}
	return aNumber
}

func wrongType(path, want string, got []byte) error {
	return invalidBody("%s must be %s, not %s.", path, want, kindOf(got)).On(path)
}

func twice(path string) error {
	return invalidBody("%s is given more than once.", path).On(path)
}

func notText(path string) error {
	return invalidBody("%s is not valid UTF-8.", path).On(path)
}

// checkText refuses NUL, the one character that no database column accepts.
func checkText(s, path string) error {
	if strings.Contains(s, "\x00") {
		return fault.Field(path, "must not contain a NUL character.")
	}
	return nil
}

// short truncates a sender's name to a length fit for a message.
func short(name string) string {
	const most = 40
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most]) + "…"
}
