package account

import (
	_ "embed" // the list of common passwords
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"claviger/internal/fault"
)

//go:embed common-passwords.txt
var commonPasswordsText string

// commonPasswords are the passwords that attackers try first, in lower case. The file names their
// source and license.
var commonPasswords = sync.OnceValue(func() map[string]bool {
	list := make(map[string]bool, 10_000)
	for line := range strings.Lines(commonPasswordsText) {
		if !strings.HasPrefix(line, "#") {
			list[strings.TrimSuffix(line, "\n")] = true
		}
	}
	return list
})

// minGuess is the length in characters from which a part of an address or a name makes a password
// guessable. Shorter parts are in many good passwords by chance.
const minGuess = 4

// checkGuessable refuses a password that is easy to guess for someone who knows the person's email
// address and the marketplace. It is only for new passwords: older ones still work.
func checkGuessable(typed, email, marketplace string) error {
	const instead = "Choose several words that have nothing to do with each other, or have a password manager make one."
	typed = strings.ToLower(typed)
	email = strings.ToLower(email)
	local, _, _ := strings.Cut(email, "@")
	person, _, _ := strings.Cut(local, "+")
	switch {
	case commonPasswords()[typed]:
		return fault.Field("password", "is one of the 10,000 most common ones, which are tried first. %s", instead)
	case contains(typed, person), contains(typed, local), contains(typed, email):
		return fault.Field("password", "contains your email address, which others know. %s", instead)
	case contains(unspaced(typed), unspaced(strings.ToLower(marketplace))):
		return fault.Field("password", "contains the name of this marketplace, which others know. %s", instead)
	}
	return nil
}

// contains reports whether part is in typed and long enough to count.
func contains(typed, part string) bool {
	return utf8.RuneCountInString(part) >= minGuess && strings.Contains(typed, part)
}

// unspaced removes spaces from a text.
func unspaced(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}
