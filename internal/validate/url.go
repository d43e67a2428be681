package validate

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"claviger/internal/fault"
)

// maxURL is the maximum length of a URL in bytes: the common limit of browsers and proxies.
const maxURL = 2048

// URL checks an absolute https URL and returns it without surrounding white space, otherwise byte
// for byte. With private, http and addresses of the own machine or network pass too. It checks only
// the text: a host name may still resolve to a private address, which must be checked when
// dialling.
func URL(name, value string, private bool) (string, error) {
	value = strings.TrimSpace(value)
	if reason := wrongURL(value, private); reason != "" {
		return "", fault.New(fault.Unprocessable, codeInvalidURL, "%s %s", name, reason).On(name)
	}
	return value, nil
}

// wrongURL describes the problem with s, "" if there is none. With private, the text is for people
// on their own machine, without https.
func wrongURL(s string, private bool) string {
	begin := "https://"
	example := "https://example.com/path"
	if private {
		begin = "http:// or https://, as in http://localhost:3000/path"
		example = "http://localhost:3000/path"
	}
	switch {
	case s == "":
		return "is empty; send a URL such as " + example + "."
	case len(s) > maxURL:
		return "has " + strconv.Itoa(len(s)) + " bytes; a URL may have at most " + strconv.Itoa(maxURL) + "."
	case strings.ContainsFunc(s, notInURL):
		return `has a character that a URL cannot have (a space, " < > \ or one beyond ASCII); percent-encode it, ` +
			`and write a host name in its xn-- form.`
	}
	u, err := url.Parse(s)
	if err != nil {
		return "cannot be read as a URL; send one such as " + example + "."
	}
	switch {
	case u.Scheme != "https" && (u.Scheme != "http" || !private):
		return "must begin with " + begin + "."
	case u.Opaque != "" || u.Hostname() == "":
		return "must name a host: " + example + "."
	case u.User != nil:
		return "must not carry a user name or password; remove what stands before the @."
	case strings.Contains(s, "#"):
		return "must not have a fragment; remove the # and what follows it."
	case !isPort(u):
		return "has a port that is not a number from 1 to 65535."
	}
	return wrongHost(u.Hostname(), private)
}

// WithQuery appends parameters to a saved URL. Its own query stays byte for byte: its owner may
// compare it or have signed it.
func WithQuery(saved string, params url.Values) string {
	saved, _, _ = strings.Cut(saved, "#")
	separator := "?"
	if strings.Contains(saved, "?") {
		separator = "&"
	}
	if strings.HasSuffix(saved, "?") || strings.HasSuffix(saved, "&") {
		separator = ""
	}
	return saved + separator + params.Encode()
}

func notInURL(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"<>\\`", r)
}

func isPort(u *url.URL) bool {
	if u.Port() == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// wrongHost describes the problem with a host, "" if there is none.
func wrongHost(host string, private bool) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		if !private && !isPublic(ip.Unmap()) {
			return "names an address that is not public; use one that can be reached over the internet."
		}
		return ""
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	switch {
	case !isHostName(name):
		return "names a host that cannot exist; check its spelling."
	case !private && (name == "localhost" || strings.HasSuffix(name, ".localhost")):
		return "names this machine; use a host that can be reached over the internet."
	}
	return ""
}

func isPublic(ip netip.Addr) bool {
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && ip.Zone() == ""
}

// isHostName also accepts underscores, which DNS allows although host names should not have them.
func isHostName(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
		if strings.ContainsFunc(label, func(r rune) bool { return !isWord(r) }) {
			return false
		}
	}
	return true
}

func isWord(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_'
}
