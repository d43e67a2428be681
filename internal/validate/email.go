package validate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"claviger/internal/fault"
)

// maxEmail is the maximum length of an address in bytes.
const maxEmail = 254

// Email checks an email address and returns it without surrounding white space, with its letter
// case. The rule rejects addresses that no email could reach; only an email can tell whether
// someone reads it.
func Email(name, value string) (string, error) {
	if !utf8.ValidString(value) {
		return "", fault.Field(name, "is not valid UTF-8; send the address in UTF-8.")
	}
	value = strings.TrimSpace(value)
	local, domain, found := strings.Cut(value, "@")
	switch {
	case value == "":
		return "", fault.Field(name, "is missing or empty; send an email address such as ann@example.com.")
	case len(value) > maxEmail:
		return "", fault.Field(name, "has %d bytes; an email address has at most %d.", len(value), maxEmail)
	case strings.ContainsFunc(value, notInEmail):
		return "", fault.Field(
			name,
			"must not have spaces, control characters or any of ( ) < > [ ] , ; : \\ \" in it.",
		)
	case !found || local == "" || strings.Contains(domain, "@"):
		return "", fault.Field(name, "must be an email address with one @, such as ann@example.com.")
	case !isDomain(domain):
		return "", fault.Field(name, "must end in a domain after the @, such as ann@example.com.")
	}
	return value, nil
}

// EmailKey returns the form in which addresses are compared: A to Z in lower case. Other letters
// stay: Unicode folds some of them, such as the Kelvin sign, into a plain letter, and the two
// addresses may belong to two people.
func EmailKey(email string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, email)
}

// notInEmail reports whether an unquoted address cannot contain r. Invisible characters are
// rejected too: they make two addresses look like one.
func notInEmail(r rune) bool {
	return !unicode.IsGraphic(r) || unicode.IsSpace(r) || strings.ContainsRune(`()<>[],;:\"`, r)
}

// isDomain reports whether s consists of host name labels. Letters beyond ASCII pass: such domains
// exist, and some mail servers accept them.
func isDomain(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-") {
			return false
		}
		if strings.ContainsFunc(label, func(r rune) bool {
			return r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
		}) {
			return false
		}
	}
	return true
}
