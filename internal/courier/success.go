package courier

import (
	"encoding/json"
	"strings"
)

// Said is what the body of an answer says of success.
type Said int

// What a body can say.
const (
	SaysNothing Said = iota // it is no JSON object, or has no member success that is true or false
	SaysYes
	SaysNo
)

// white is the white space of JSON.
const white = " \t\r\n"

// Success reads the member success of an answer's body; of several, the last one
// counts. Of a body that was cut at MaxBody it reads what there is.
func Success(body string) Said {
	body = strings.TrimPrefix(body, "\ufeff") // some servers begin with a byte order mark
	if !strings.HasPrefix(strings.TrimLeft(body, white), "{") {
		return SaysNothing
	}
	// Cleaning may have taken some bytes more from a body that was cut.
	const whole = MaxBody - 8
	if len(body) < whole && !json.Valid([]byte(body)) {
		return SaysNothing
	}
	return success(body)
}

// success goes through an object, whole or cut. It is written by hand because
// decoding costs more than signing does, and nearly every answer has this member.
func success(s string) (said Said) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			end := stringEnd(s, i)
			rest := strings.TrimLeft(s[end:], white)
			if depth == 1 && strings.HasPrefix(rest, ":") && isSuccess(s[i:end]) {
				said = sayOf(strings.TrimLeft(rest[1:], white))
			}
			i = end - 1
		}
	}
	return said
}

// stringEnd is where the string that begins at i has ended.
func stringEnd(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// isSuccess reports whether a string in quotes is the name, which may be written
// with escapes.
func isSuccess(quoted string) bool {
	if !strings.Contains(quoted, `\`) {
		return quoted == `"success"`
	}
	var name string
	return json.Unmarshal([]byte(quoted), &name) == nil && name == "success"
}

// sayOf reads what begins with a value.
func sayOf(value string) Said {
	switch {
	case strings.HasPrefix(value, "true"):
		return SaysYes
	case strings.HasPrefix(value, "false"):
		return SaysNo
	}
	return SaysNothing
}
