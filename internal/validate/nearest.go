package validate

import (
	"strings"
	"unicode/utf8"
)

// Nearest returns the name of known that is most like name, "" when none is like
// it: one of them contains the other, or at most a third of it differs.
func Nearest(name string, known []string) string {
	asked, best, bestAt := plainName(name), "", 0
	if n := utf8.RuneCountInString(asked); n < 2 || n > 64 {
		return ""
	}
	for _, candidate := range known {
		have := plainName(candidate)
		longer, shorter := max(len(asked), len(have)), min(len(asked), len(have))
		at := editDistance(asked, have)
		contains := shorter > 2 && (strings.Contains(asked, have) || strings.Contains(have, asked))
		if !contains && at > max(longer/3, 1) {
			continue
		}
		if best == "" || at < bestAt {
			best, bestAt = candidate, at
		}
	}
	return best
}

// plainName is a name without what naming styles differ in: webhookUrl,
// Webhook-URL and webhook_url are the same.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(name))
}

// editDistance is how many letters must be added, left out, replaced or swapped
// with the next one to make b of a.
func editDistance(a, b string) int {
	from, to := []rune(a), []rune(b)
	rows := make([][]int, len(from)+1)
	for i := range rows {
		rows[i] = make([]int, len(to)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(from); i++ {
		for j := 1; j <= len(to); j++ {
			replace := rows[i-1][j-1]
			if from[i-1] != to[j-1] {
				replace++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replace)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(from)][len(to)]
}
