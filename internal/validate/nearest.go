package validate

import (
	"strings"
	"unicode/utf8"
)

// Nearest returns the known name most similar to name, "" if none is similar. Similar means that
// one contains the other, or that at most a third differs.
func Nearest(name string, known []string) string {
	asked := plainName(name)
	best := ""
	bestAt := 0
	if n := utf8.RuneCountInString(asked); n < 2 || n > 64 {
		return ""
	}
	for _, candidate := range known {
		have := plainName(candidate)
		longer := max(len(asked), len(have))
		shorter := min(len(asked), len(have))
		at := editDistance(asked, have)
		contains := shorter > 2 && (strings.Contains(asked, have) || strings.Contains(have, asked))
		if !contains && at > max(longer/3, 1) {
			continue
		}
		if best == "" || at < bestAt {
			best = candidate
			bestAt = at
		}
	}
	return best
}

// plainName removes differences of naming styles: webhookUrl, Webhook-URL and webhook_url are the
// same.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "", " ", "").Replace(name))
}

// editDistance returns the number of letters to add, remove, replace or swap with the next one to
// turn a into b.
func editDistance(a, b string) int {
	from := []rune(a)
	to := []rune(b)
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
