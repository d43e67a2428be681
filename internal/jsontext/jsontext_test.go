package jsontext_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"claviger/internal/jsontext"
)

// encoded returns the output of encoding/json without HTML escaping.
func encoded(t fatal, v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// fatal is the common part of a test and a property.
type fatal interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func checkString(t fatal, s string) {
	if got, want := string(jsontext.AppendString([]byte("x"), s)), "x"+encoded(t, s); got != want {
		t.Fatalf("%q: got %s, want %s", s, got, want)
	}
}

func TestAppendStringIsEncodingJSON(t *testing.T) {
	for c := range 256 {
		checkString(t, "a"+string([]byte{byte(c)})+"b")
		checkString(t, "a"+string(rune(c))+"b")
	}
	checkString(t, "\u2028 \u2029 \u202a <&> \ufffd \xff\xfe \xed\xa0\x80 😀")
	rapid.Check(t, func(t *rapid.T) { checkString(t, rapid.String().Draw(t, "s")) })
	rapid.Check(t, func(t *rapid.T) { checkString(t, string(rapid.SliceOf(rapid.Byte()).Draw(t, "b"))) })
}

func BenchmarkAppendString(b *testing.B) {
	buf := make([]byte, 0, 128)
	b.ReportAllocs()
	for b.Loop() {
		buf = jsontext.AppendString(buf[:0], "https://licenses.example.com/licensing/0c9a4d1e-8f5b-4b6e-9a41-0e2c8a7c1d11/redeem/")
	}
}
