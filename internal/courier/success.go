package courier

import (
	"encoding/json"
	"strings"
)

// Said is the success value in the body of an answer.
type Said int

// The values.
const (
	SaysNothing Said = iota // not a JSON object, or no boolean member success
	SaysYes
	SaysNo
)

// white is JSON white space.
const white = " \t\r\n"

// Success reads the member success of an answer's body; the last one counts. For a body cut at
// MaxBody it reads the part it has.
func Success(body string) Said {
	body = strings.TrimPrefix(body, "\ufeff") // some servers send a byte order mark
	if !strings.HasPrefix(strings.TrimLeft(body, white), "{") {
		return SaysNothing
	}
	// Clean may have removed a few more bytes from a body that was cut.
	const whole = MaxBody - 8
	if len(body) < whole && !json.Valid([]byte(body)) {
		return SaysNothing
	}
	return success(body)
}

// success scans an object, complete or cut. It is written by hand because decoding costs more than
// signing, and nearly every answer has this member.
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

// stringEnd returns the end of the string that begins at i.
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

// isSuccess reports whether a quoted string is the name, which may contain escapes.
func isSuccess(quoted string) bool {
	if !strings.Contains(quoted, `\`) {
		return quoted == `"success"`
	}
	var name string
	return json.Unmarshal([]byte(quoted), &name) == nil && name == "success"
}

// sayOf reads the value at the start of a text.
func sayOf(value string) Said {
	switch {
	case strings.HasPrefix(value, "true"):
		return SaysYes
	case strings.HasPrefix(value, "false"):
		return SaysNo
	}
	return SaysNothing
}
