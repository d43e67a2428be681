package courier

import (
	"net/url"
	"strings"
)

// A webhook that was sent is on record as its headers, one per line, and its body.

// headerOf finds a header in a record; names are compared without their case.
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

// branded matches the headers of a brand, X-<Brand>-Timestamp and the like.
func branded(end string) func(string) bool {
	return func(name string) bool {
		name = strings.ToLower(name)
		return strings.HasPrefix(name, "x-") && strings.HasSuffix(name, end)
	}
}

// SignedTexts returns the texts that were signed for a webhook on record; a text whose
// parts are not on record is "".
func SignedTexts(header, body string) Signed {
	var s Signed
	_, id := headerOf(header, isNamed(HeaderID))
	_, at := headerOf(header, isNamed(HeaderTimestamp))
	if id != "" && at != "" {
		s.Standard = id + "." + at + "." + body
	}
	if _, at := headerOf(header, branded("-timestamp")); at != "" {
		s.Brand = at + body
	}
	return s
}

// Repeat returns a script for a shell that sends a webhook on record again to a URL,
// signed for the time at which it runs with the secret in $SECRET.
func Repeat(to, header, body string) string {
	_, id := headerOf(header, isNamed(HeaderID))
	lines := []string{
		"BODY=" + quote(body),
		"ID=" + quote(id) + " TS=$(date +%s)",
		`HEX='od -An -v -tx1'`,
		`case $SECRET in whsec_*) KEY=$(printf %s "${SECRET#whsec_}" | base64 -d | $HEX);; *) KEY=$(printf %s "$SECRET" | $HEX);; esac`,
		`SIGN="openssl dgst -sha256 -mac HMAC -binary -macopt"`,
		`V1=$(printf %s "$ID.$TS.$BODY" | $SIGN "hexkey:$(echo $KEY | tr -d ' ')" | base64)`,
	}
	call := []string{
		"curl -X POST " + quote(to), "-H " + quote("Content-Type: "+contentType),
		`-H "` + HeaderID + `: $ID"`, `-H "` + HeaderTimestamp + `: $TS"`, `-H "` + HeaderSignature + `: v1,$V1"`,
	}
	if name, _ := headerOf(header, branded("-timestamp")); name != "" && consists(name, "-") {
		stem := name[:len(name)-len("Timestamp")]
		lines = append(lines, `OWN=$(printf %s "${TS}000$BODY" | $SIGN "hexkey:$(printf %s "$SECRET" | $HEX | tr -d ' \n')" | $HEX | tr -d ' \n')`)
		call = append(call, `-H "`+stem+`Timestamp: ${TS}000"`, `-H "`+stem+`Signature: $OWN"`)
	}
	call = append(call, `--data-binary "$BODY"`)
	return strings.Join(lines, "\n") + "\n" + strings.Join(call, " \\\n  ")
}

// quote makes a text one word of a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// AtLocalhost returns a URL with the same path and query on the reader's own machine.
func AtLocalhost(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "http://localhost:3000/"
	}
	u.Scheme, u.Host, u.User = "http", "localhost:3000", nil
	return u.String()
}
