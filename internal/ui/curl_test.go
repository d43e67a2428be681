package ui_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"claviger/internal/ui"
)

func TestCurl(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	for name, c := range map[string]struct {
		call ui.Curl
		want string
	}{
		"get": {
			ui.Curl{URL: "https://m.example/v2/licenses", Query: []ui.Param{{Name: "status", Value: "active"}, {Name: "page", Value: 2}, {Name: "q", Value: ""}, {Name: "none"}}},
			"curl 'https://m.example/v2/licenses?status=active&page=2' \\\n  -H \"Authorization: Bearer $API_KEY\"",
		},
		"times are in UTC": {
			ui.Curl{URL: "https://m.example/v2/x", Query: []ui.Param{{Name: "since", Value: time.Date(2026, 11, 16, 5, 0, 0, 0, berlin)}, {Name: "until", Value: time.Time{}}}},
			"curl 'https://m.example/v2/x?since=2026-11-16T04%3A00%3A00Z' \\\n  -H \"Authorization: Bearer $API_KEY\"",
		},
		"post": {
			ui.Curl{Method: "POST", URL: "https://m.example/v2/y", Secret: "OPERATOR_TOKEN", JSON: `{"a":"it's"}`},
			"curl -X POST 'https://m.example/v2/y' \\\n  -H \"Authorization: Bearer $OPERATOR_TOKEN\" \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"a\":\"it'\\''s\"}'",
		},
		"form": {
			ui.Curl{Method: "PUT", URL: "https://m.example/v2/z", Form: []ui.Param{{Name: "webhook_url", Value: "https://a.example/?a=1&b=$(id)"}, {Name: "x", Value: ""}}},
			"curl -X PUT 'https://m.example/v2/z' \\\n  -H \"Authorization: Bearer $API_KEY\" \\\n  --data-urlencode 'webhook_url=https://a.example/?a=1&b=$(id)'",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.call.String(); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
	wants(t, part(t, `{{template "curl" .Data}}`, ui.Curl{What: "List <licenses>", URL: "https://m.example/v2/licenses"}),
		"<summary>", "List &lt;licenses&gt;", "<code>curl &#39;https://m.example/v2/licenses&#39; \\")
}

// TestShellQuote runs a shell with texts that look like commands.
func TestShellQuote(t *testing.T) {
	for _, text := range []string{"", "plain", "it's", `"$HOME"`, "$(id)`id`", "a\nb", `back\slash\`, "''", "; rm -rf /", "!history", "ünï ✓"} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+ui.ShellQuote(text)).Output()
		if err != nil || string(out) != text {
			t.Errorf("%q became %q, %v", text, out, err)
		}
	}
	if strings.Contains(ui.Curl{URL: "x"}.String(), "\n\n") {
		t.Error("an empty line ends the command")
	}
}
