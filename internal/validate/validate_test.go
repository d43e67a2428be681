package validate_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"claviger/internal/fault"
	"claviger/internal/validate"
)

func TestLine(t *testing.T) {
	for _, c := range []struct {
		name, value string
		low, high   int
		want        string // "" with bad: rejected
		bad         bool
	}{
		{name: "as it is", value: "Ann", low: 1, high: 10, want: "Ann"},
		{name: "trimmed", value: " \tAnn Lee\n", low: 1, high: 10, want: "Ann Lee"},
		{name: "characters and not bytes", value: strings.Repeat("é", 10), low: 1, high: 10, want: strings.Repeat("é", 10)},
		{name: "too long", value: strings.Repeat("é", 11), low: 1, high: 10, bad: true},
		{name: "too short", value: "abc", low: 4, high: 10, bad: true},
		{name: "empty where it must not be", low: 1, high: 10, bad: true},
		{name: "only spaces", value: "   ", low: 1, high: 10, bad: true},
		{name: "empty where it may be", low: 0, high: 10},
		{name: "NUL", value: "a\x00b", low: 1, high: 10, bad: true},
		{name: "line break", value: "a\nb", low: 1, high: 10, bad: true},
		{name: "escape", value: "a\x1b[2Jb", low: 1, high: 10, bad: true},
		{name: "C1 control", value: "a\u0085b", low: 1, high: 10, bad: true},
		{name: "line separator", value: "a\u2028b", low: 1, high: 10, bad: true},
		{name: "not UTF-8", value: "a\xffb", low: 1, high: 10, bad: true},
		{name: "SQL is only text", value: "'; DROP TABLE x;", low: 1, high: 20, want: "'; DROP TABLE x;"},
		{name: "joined emoji", value: "👩\u200d💻", low: 1, high: 10, want: "👩\u200d💻"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := validate.Line("title", c.value, c.low, c.high)
			if got != c.want || (err != nil) != c.bad {
				t.Fatalf("Line(%q) = %q, %v; want %q, refused %v", c.value, got, err, c.want, c.bad)
			}
			if c.bad {
				refused(t, err, "invalid_field", "title")
			}
		})
	}
}

// TestName: a name is a line without characters that change the direction of text; the error names
// each of them.
func TestName(t *testing.T) {
	for _, r := range "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		_, err := validate.Name("title", "Ann"+string(r)+"eel", 1, 10)
		refused(t, err, "invalid_field", "title")
		if text := fault.Of(err).Text; !strings.Contains(text, fmt.Sprintf("%U", r)) {
			t.Errorf("the text %q does not name %U", text, r)
		}
	}
	for _, s := range []string{"Ann Lee", "דנה כהן", "ليلى", "👩\u200d💻", "می\u200cخواهم"} {
		if got, err := validate.Name("title", " "+s+" ", 1, 10); got != s || err != nil {
			t.Errorf("Name(%q) = %q, %v; want it taken, trimmed", s, got, err)
		}
	}
	_, err := validate.Name("title", "a\nb", 1, 10)
	refused(t, err, "invalid_field", "title")
}

func TestText(t *testing.T) {
	if got, err := validate.Text("note", " one\r\n\ttwo\rthree\n", 20); got != "one\n\ttwo\nthree" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, s := range []string{"a\x00b", "a\x1b[31mb", "a\u2028b", "a\u202eb", "a\xffb", strings.Repeat("é", 21)} {
		_, err := validate.Text("note", s, 20)
		refused(t, err, "invalid_field", "note")
	}
}

// refused checks that err is a fault that its sender can act on.
func refused(t *testing.T, err error, code, name string) {
	t.Helper()
	f := fault.Of(err)
	if f == nil || f.Kind != fault.Unprocessable || f.Code != code || f.Field != name {
		t.Fatalf("got %#v, want an unprocessable %s on %s", f, code, name)
	}
	if !strings.HasPrefix(f.Text, name+" ") || !strings.HasSuffix(f.Text, ".") || strings.Contains(f.Text, "%!") {
		t.Errorf("the text %q is not a sentence about %s", f.Text, name)
	}
}

var goodEmails = []string{
	"ann@example.com", "a@b", "root@localhost", "ann+tag@sub.example.co.uk", "o'brien@example.com",
	"UPPER@Example.COM", "dot..dot@example.com", "jürgen@bücher.example", "用户@例子.公司",
	strings.Repeat("a", 254-len("@example.com")) + "@example.com",
}

var badEmails = []string{
	"", " ", "ann", "@", "ann@", "@example.com", "a@b@c", "a@@b", "ann lee@example.com", "ann@exam ple.com",
	"ann@example..com", "ann@.example.com", "ann@example.com.", "ann@-a.com", "ann@a-.com", "ann@exa_mple.com", "ann@[127.0.0.1]",
	"Ann <ann@example.com>", "a,b@example.com", "a;b@example.com", "a:b@example.com", `"a"@example.com`, `a\b@example.com`,
	"ann\x00@example.com", "ann@example.com\nBcc: x@y.z", "a\r\n@b.c", "ann\u200b@example.com", "ann\u00a0lee@example.com", "ann\xff@example.com",
	"a@" + strings.Repeat("b", 64) + ".com",
	strings.Repeat("a", 255-len("@example.com")) + "@example.com",
}

func TestEmail(t *testing.T) {
	for _, s := range goodEmails {
		if got, err := validate.Email("email", " "+s+"\n"); got != s || err != nil {
			t.Errorf("Email(%q) = %q, %v; want it taken, trimmed", s, got, err)
		}
	}
	for _, s := range badEmails {
		got, err := validate.Email("email", s)
		if err == nil {
			t.Errorf("Email(%q) = %q; want it refused", s, got)
			continue
		}
		refused(t, err, "invalid_field", "email")
	}
	if a, b := validate.EmailKey("Ann@Example.com"), validate.EmailKey("aNN@eXAMPLE.com"); a != b {
		t.Errorf("keys differ by letter case: %q and %q", a, b)
	}
	// The Kelvin sign, the dotted İ and É are not ASCII letters.
	for _, s := range []string{"\u212aim@example.com", "\u0130da@example.com", "\u00c9va@example.com"} {
		if key := validate.EmailKey(s); key != s {
			t.Errorf("the key of %q is %q, want only A to Z folded", s, key)
		}
	}
}

func FuzzEmail(f *testing.F) {
	for _, s := range append(goodEmails, badEmails...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := validate.Email("email", s)
		if err != nil {
			refused(t, err, "invalid_field", "email")
			return
		}
		if len(got) > 254 || !utf8.ValidString(got) || strings.Count(got, "@") != 1 || strings.ContainsAny(got, " \r\n\t\x00<>,\"") {
			t.Errorf("Email(%q) took %q", s, got)
		}
		if again, err := validate.Email("email", got); again != got || err != nil {
			t.Errorf("Email(%q) = %q, %v; want what it gave before", got, again, err)
		}
		if key := validate.EmailKey(got); validate.EmailKey(key) != key {
			t.Errorf("EmailKey is not stable for %q", got)
		}
	})
}

// Each URL, and whether it passes with public and with private targets.
var urls = []struct {
	url             string
	public, private bool
}{
	{"https://example.com", true, true},
	{"https://example.com/hook?partner=1&x=a%20b", true, true},
	{"HTTPS://Example.com:8443/", true, true},
	{"https://xn--bcher-kva.example/", true, true},
	{"https://my_host.example.com./", true, true},
	{"https://8.8.8.8/", true, true},
	{"https://[2606:4700::1111]:443/", true, true},
	{"http://example.com/", false, true},
	{"http://localhost:8080/cb", false, true},
	{"https://localhost/", false, true},
	{"https://a.LOCALHOST./", false, true},
	{"https://127.0.0.1/", false, true},
	{"https://10.1.2.3/", false, true},
	{"https://192.168.0.1/", false, true},
	{"https://169.254.169.254/latest/meta-data", false, true},
	{"https://0.0.0.0/", false, true},
	{"https://[::1]/", false, true},
	{"https://[::ffff:127.0.0.1]/", false, true},
	{"https://[fe80::1%25eth0]/", false, true},
	{"https://[fd00::1]/", false, true},
	{"", false, false},
	{"example.com/hook", false, false},
	{"/hook", false, false},
	{"//example.com/hook", false, false},
	{"https:", false, false},
	{"https:example.com", false, false},
	{"https://", false, false},
	{"https:///path", false, false},
	{"https://:443/", false, false},
	{"https://example.com:/", false, false},
	{"https://example.com:0/", false, false},
	{"https://example.com:65536/", false, false},
	{"https://example.com:http/", false, false},
	{"https://user:pw@example.com/", false, false},
	{"https://user@example.com/", false, false},
	{"https://@example.com/", false, false},
	{"https://example.com/#x", false, false},
	{"https://example.com/#", false, false},
	{"https://exam ple.com/", false, false},
	{"https://example.com/a b", false, false},
	{"https://example.com/\r\nX: y", false, false},
	{"https://example.com/\x00", false, false},
	{"https://example.com/\xff", false, false},
	{"https://bücher.example/", false, false},
	{`https://example.com\@evil.example/`, false, false},
	{"https://example.com/%zz", false, false},
	{"https://a..b/", false, false},
	{"https://-a.example/", false, false},
	{"https://ex!ample.com/", false, false},
	{"https://" + strings.Repeat("a.", 130) + "com/", false, false},
	{"ftp://example.com/", false, false},
	{"javascript:alert(1)", false, false},
	{"file:///etc/passwd", false, false},
	{"https://example.com/" + strings.Repeat("a", 2048-len("https://example.com/")), true, true},
	{"https://example.com/" + strings.Repeat("a", 2049-len("https://example.com/")), false, false},
}

func TestURL(t *testing.T) {
	for _, c := range urls {
		for _, private := range []bool{false, true} {
			want := c.public
			if private {
				want = c.private
			}
			got, err := validate.URL("webhook_url", " "+c.url+" ", private)
			switch {
			case (err == nil) != want:
				t.Errorf("URL(%q, private %v) = %q, %v; want it taken: %v", c.url, private, got, err, want)
			case err != nil:
				refused(t, err, "invalid_url", "webhook_url")
			case got != c.url:
				t.Errorf("URL(%q) changed it to %q", c.url, got)
			}
		}
	}
}

// TestURLWords: people who may use http are not asked for https.
func TestURLWords(t *testing.T) {
	for _, url := range []string{"", "foo", "localhost:3000/hook", "ftp://example.com", "http://", "http://%"} {
		for private, want := range map[bool]string{true: "http://", false: "https://"} {
			_, err := validate.URL("webhook_url", url, private)
			f := fault.Of(err)
			if f == nil || !strings.Contains(f.Text, " "+want) || private && strings.Contains(f.Text, "such as https://") {
				t.Errorf("URL(%q, private %v): %v, want %s named", url, private, err, want)
			}
		}
	}
}

func FuzzURL(f *testing.F) {
	for _, c := range urls {
		f.Add(c.url, false)
		f.Add(c.url, true)
	}
	f.Fuzz(func(t *testing.T, s string, private bool) {
		got, err := validate.URL("redirect_url", s, private)
		if err != nil {
			refused(t, err, "invalid_url", "redirect_url")
			return
		}
		u, err := url.Parse(got)
		if err != nil {
			t.Fatalf("took %q, which does not parse: %v", got, err)
		}
		if u.Scheme != "https" && !private || u.Hostname() == "" || u.User != nil || u.Fragment != "" || len(got) > 2048 {
			t.Errorf("URL(%q, private %v) took %q", s, private, got)
		}
		if strings.ContainsAny(got, "\r\n\x00 ") || !utf8.ValidString(got) {
			t.Errorf("URL(%q) took characters that break a header: %q", s, got)
		}
		if again, err := validate.URL("redirect_url", got, private); again != got || err != nil {
			t.Errorf("URL(%q) = %q, %v; want what it gave before", got, again, err)
		}
	})
}

func TestWithQuery(t *testing.T) {
	params := url.Values{"b": {"x y"}, "a": {"1"}}
	for saved, want := range map[string]string{
		"https://a.example":                          "https://a.example?a=1&b=x+y",
		"https://a.example/in":                       "https://a.example/in?a=1&b=x+y",
		"https://a.example/in?":                      "https://a.example/in?a=1&b=x+y",
		"https://a.example/in?b=2&a=%7E1&flag&s=a+b": "https://a.example/in?b=2&a=%7E1&flag&s=a+b&a=1&b=x+y",
		"https://a.example/in?b=2&":                  "https://a.example/in?b=2&a=1&b=x+y",
		"https://a.example/in#top":                   "https://a.example/in?a=1&b=x+y",
	} {
		if got := validate.WithQuery(saved, params); got != want {
			t.Errorf("WithQuery(%q) = %q, want %q", saved, got, want)
		}
	}
}

func TestCurrency(t *testing.T) {
	for code, ok := range map[string]bool{"EUR": true, "XYZ": true, "": false, "eur": false, "EURO": false, "E R": false, "ÄB": false} {
		if f := fault.Of(validate.Currency("currency", code)); (f == nil) != ok || f != nil && f.Field != "currency" {
			t.Errorf("%q: %v", code, f)
		}
	}
}
