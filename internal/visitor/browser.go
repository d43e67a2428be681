package visitor

import "strings"

// browsers and systems are what a User-Agent says, in words. The first that fits counts:
// most browsers name others, too.
var (
	browsers = []struct{ has, name string }{
		{"Edg", "Edge"},
		{"OPR/", "Opera"},
		{"SamsungBrowser/", "Samsung Internet"},
		{"Firefox/", "Firefox"},
		{"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
		{"curl/", "curl"},
	}
	systems = []struct{ has, name string }{
		{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"CrOS", "ChromeOS"}, {"Linux", "Linux"},
	}
)

// Browser is a User-Agent in words: "Firefox on Windows". Only the words are stored.
func Browser(agent string) string {
	name, system := "A browser", ""
	for _, b := range browsers {
		if strings.Contains(agent, b.has) {
			name = b.name
			break
		}
	}
	for _, s := range systems {
		if strings.Contains(agent, s.has) {
			system = " on " + s.name
			break
		}
	}
	return name + system
}
