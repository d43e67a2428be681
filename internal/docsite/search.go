package docsite

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a search.
const (
	maxQuery = 200 // bytes
	maxHits  = 30
	around   = 90 // bytes of text before and after a hit
)

// hit is a section with all searched words.
type hit struct {
	section
	Parts []part // of its text, around the first word
	score int
}

// part is a piece of text that may be one of the words.
type part struct {
	Text string
	Hit  bool
}

// search returns the sections with all words of a query in their heading or text, the best first.
func (l *texts) search(query string) []hit {
	words := strings.Fields(lower(query))
	if len(words) == 0 {
		return nil
	}
	var hits []hit
	for _, s := range l.sections {
		heading := lower(s.Heading)
		text := lower(s.text)
		h := hit{section: s}
		for _, word := range words {
			inHeading := count(heading, word)
			inText := count(text, word)
			if inHeading+inText == 0 {
				h.score = 0
				break
			}
			h.score += 10*min(inHeading, 1) + min(inText, 5)
		}
		if h.score > 0 {
			if len(words) > 1 && strings.Contains(heading+" "+text, strings.Join(words, " ")) {
				h.score += 20
			}
			h.Parts = excerpt(s.text, words)
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	return hits
}

// lower returns a text in lower case with unchanged byte positions.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// excerpt returns the text around the first of some words, in parts.
func excerpt(text string, words []string) []part {
	from := 0
	to := min(len(text), 2*around)
	if i, word := find(lower(text), words); i >= 0 {
		from = max(0, i-around)
		to = min(len(text), i+len(word)+around)
	}
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	var parts []part
	if from > 0 {
		parts = append(parts, part{Text: "…"})
	}
	rest := text[from:to]
	for {
		i, word := find(lower(rest), words)
		if i < 0 {
			break
		}
		parts = append(parts, part{Text: rest[:i]}, part{rest[i : i+len(word)], true})
		rest = rest[i+len(word):]
	}
	if to < len(text) {
		rest += "…"
	}
	return append(parts, part{Text: rest})
}

// find returns the first position of one of some words, -1 if there is none.
func find(text string, words []string) (at int, word string) {
	at = -1
	for _, w := range words {
		if i := index(text, w, 0); i >= 0 && (at < 0 || i < at) {
			at = i
			word = w
		}
	}
	return at, word
}

// index returns the first position, at or after from, of a word that begins with these characters,
// or -1.
func index(text, begin string, from int) int {
	for {
		i := strings.Index(text[from:], begin)
		if i < 0 {
			return -1
		}
		from += i
		if before, _ := utf8.DecodeLastRuneInString(text[:from]); !unicode.IsLetter(before) &&
			!unicode.IsDigit(before) {
			return from
		}
		from += len(begin)
	}
}

// count returns the number of words that begin with these characters.
func count(text, begin string) int {
	n := 0
	for i := index(text, begin, 0); i >= 0; i = index(text, begin, i+len(begin)) {
		n++
	}
	return n
}
