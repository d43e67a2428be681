package diagnose

import (
	"net/url"
	"regexp"
	"strings"

	"claviger/internal/courier"
)

// A sent webhook is stored as its headers, one per line, and its body.

// headerOf finds a header in a record; names are compared without case.
func headerOf(header string, is func(name string) bool) (name, value string) {
	for line := range strings.Lines(header) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		if ok && is(name) {
			return name, value
		}
	}
	return "", ""
}

func isNamed(want string) func(string) bool {
	return func(name string) bool { return strings.EqualFold(name, want) }
}

// branded matches the headers of any brand, such as X-<Brand>-Timestamp.
func branded(end string) func(string) bool {
	return func(name string) bool {
		name = strings.ToLower(name)
		return strings.HasPrefix(name, "x-") && strings.HasSuffix(name, end)
	}
}

// SignedTexts returns the signed texts of a stored webhook; a text with missing parts is "".
func SignedTexts(header, body string) courier.Signed {
	var s courier.Signed
	_, id := headerOf(header, isNamed(courier.HeaderID))
	_, at := headerOf(header, isNamed(courier.HeaderTimestamp))
	if id != "" && at != "" {
		s.Standard = id + "." + at + "." + body
	}
	if _, at := headerOf(header, branded("-timestamp")); at != "" {
		s.Brand = at + body
	}
	return s
}

// Repeat returns a shell script that sends a stored webhook again to a URL. It signs for the time
// when it runs, with the secret in $SECRET.
func Repeat(to, header, body string) string {
	_, id := headerOf(header, isNamed(courier.HeaderID))
	lines := []string{
		"BODY=" + quote(body),
		"ID=" + quote(id) + " TS=$(date +%s)",
		`HEX='od -An -v -tx1'`,
		`case $SECRET in whsec_*) KEY=$(printf %s "${SECRET#whsec_}" | base64 -d | $HEX);; ` +
			`*) KEY=$(printf %s "$SECRET" | $HEX);; esac`,
		`SIGN="openssl dgst -sha256 -mac HMAC -binary -macopt"`,
		`V1=$(printf %s "$ID.$TS.$BODY" | $SIGN "hexkey:$(echo $KEY | tr -d ' ')" | base64)`,
	}
	call := []string{
		"curl -X POST " + quote(to), "-H " + quote("Content-Type: "+courier.ContentType),
		`-H "` + courier.HeaderID + `: $ID"`, `-H "` + courier.HeaderTimestamp + `: $TS"`,
		`-H "` + courier.HeaderSignature + `: v1,$V1"`,
	}
	if name, _ := headerOf(header, branded("-timestamp")); plainName.MatchString(name) {
		stem := name[:len(name)-len("Timestamp")]
		lines = append(
			lines,
			`OWN=$(printf %s "${TS}000$BODY" | `+
				`$SIGN "hexkey:$(printf %s "$SECRET" | $HEX | tr -d ' \n')" | $HEX | tr -d ' \n')`,
		)
		call = append(call, `-H "`+stem+`Timestamp: ${TS}000"`, `-H "`+stem+`Signature: $OWN"`)
	}
	call = append(call, `--data-binary "$BODY"`)
	return strings.Join(lines, "\n") + "\n" + strings.Join(call, " \\\n  ")
}

// plainName matches a header's name that needs no quotes in a script.
var plainName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// quote makes a text one shell word.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// AtLocalhost returns a URL with the same path and query on the reader's own machine.
func AtLocalhost(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "http://localhost:3000/"
	}
	u.Scheme = "http"
	u.Host = "localhost:3000"
	u.User = nil
	return u.String()
}
