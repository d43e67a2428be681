package visitor

import "strings"

// browsers and systems are the names in a User-Agent. The first match counts, because most browsers
// name others, too.
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
		{
			"Android",
			"Android",
		},
		{"iPhone", "iPhone"},
		{"iPad", "iPad"},
		{"Windows", "Windows"},
		{"Mac OS X", "macOS"},
		{"CrOS", "ChromeOS"},
		{"Linux", "Linux"},
	}
)

// Browser describes a User-Agent: "Firefox on Windows". Only this description is stored.
func Browser(agent string) string {
	name := "A browser"
	system := ""
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
