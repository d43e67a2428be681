package courier

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"
)

// written returns a request as written by write and by net/http.
func written(t *testing.T, method, url string, h http.Header, body []byte) (ours, theirs string, plain bool) {
	t.Helper()
	var got, want bytes.Buffer
	for _, b := range []*bytes.Buffer{&got, &want} {
		req, err := http.NewRequest(method, url, bytes.NewReader(body)) //nolint:noctx // not sent
		if err != nil {
			t.Skip("net/http does not take it")
		}
		req.Header = h.Clone()
		if b == &want {
			err = req.Write(b)
		} else {
			w := bufio.NewWriter(b)
			err = write(w, req, body)
			plain = req.Body != nil && req.Body != http.NoBody && unread(req, len(body))
			_ = w.Flush()
		}
		if err != nil {
			b.Reset()
			b.WriteString("error")
		}
	}
	return got.String(), want.String(), plain
}

// unread reports whether the request's own body is unread; net/http would read it.
func unread(req *http.Request, n int) bool {
	var b bytes.Buffer
	_, _ = b.ReadFrom(req.Body)
	return b.Len() == n
}

func TestWrite(t *testing.T) {
	webhook := http.Header{
		"webhook-id": {"evt_1"}, "webhook-timestamp": {"1"}, "webhook-signature": {"v1,a v1,b"}, "X-Licensing-Signature": {"00ff"},
		"Content-Type": {"application/json; charset=UTF-8"}, "User-Agent": {"claviger/1.0 (+https://example.com)"},
	}
	with := func(name string, values ...string) http.Header {
		h := webhook.Clone()
		h[name] = values
		return h
	}
	const post, url = http.MethodPost, "https://example.com/hook"
	for name, c := range map[string]struct {
		method, url string
		header      http.Header
		body        string
		plain       bool
	}{
		"webhook":            {post, url, webhook, `{"a":1}`, true},
		"long body":          {post, url, webhook, string(make([]byte, 100_000)), true},
		"port":               {post, "http://127.0.0.1:8080/hook", webhook, "x", true},
		"empty port":         {post, "https://example.com:/hook", webhook, "x", true},
		"query":              {post, "https://example.com/a%20b/ü?c=d&e=%zz#f", webhook, "x", true},
		"no path":            {post, "https://example.com", webhook, "x", true},
		"only a query":       {post, "https://example.com?a=b", webhook, "x", true},
		"opaque":             {post, "https:example.com/hook", webhook, "x", false},
		"two values":         {post, url, with("X-Two", "a", "b"), "x", true},
		"no value":           {post, url, with("X-None"), "x", true},
		"empty value":        {post, url, with("X-Empty", ""), "x", true},
		"not ASCII":          {post, url, with("X-Name", "Zoë"), "x", true},
		"not UTF-8":          {post, url, with("X-Name", "\xff\xfe"), "x", true},
		"a line end":         {post, url, with("X-Bad", "a\r\nX-Other: b"), "x", false},
		"a line end in name": {post, url, with("X-Bad\r\nX-Other", "b"), "x", false},
		"spaces around":      {post, url, with("X-Space", " a "), "x", false},
		"a control":          {post, url, with("X-Bell", "\a"), "x", false},
		"a host of its own":  {post, url, with("Host", "other.example"), "x", false},
		"a length":           {post, url, with("Content-Length", "7"), "x", false},
		"chunks":             {post, url, with("Transfer-Encoding", "chunked"), "x", false},
		"a trailer":          {post, url, with("Trailer", "X"), "x", false},
		"closing":            {post, url, with("Connection", "close"), "x", false},
		"lower-case agent":   {post, url, with("user-agent", "other"), "x", true},
		"two agents":         {post, url, with("User-Agent", "a", "b"), "x", false},
		"an empty agent":     {post, url, with("User-Agent", ""), "x", false},
		"no headers":         {post, url, nil, "x", false},
		"no body":            {post, url, webhook, "", false},
		"GET":                {http.MethodGet, url, webhook, "", false},
		"PUT":                {http.MethodPut, url, webhook, "x", false},
		"IPv6":               {post, "https://[::1]:8443/hook", webhook, "x", false},
		"not an ASCII host":  {post, "https://exämple.com/hook", webhook, "x", false},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs, plain := written(t, c.method, c.url, c.header, []byte(c.body))
			if ours != theirs {
				t.Errorf("got\n%q\nwant\n%q", ours, theirs)
			}
			if plain != c.plain {
				t.Errorf("it is written by hand: %v", plain)
			}
		})
	}
}

func FuzzWrite(f *testing.F) {
	f.Add("POST", "https://example.com/a?b=c", "X-Name", "value", "claviger", []byte("body"))
	f.Add("POST", "http://127.0.0.1:80", "webhook-id", "evt_1\t", "", []byte(""))
	f.Fuzz(func(t *testing.T, method, url, name, value, agent string, body []byte) {
		h := http.Header{"User-Agent": {agent}, "Content-Type": {"application/json"}, name: {value, value + "x"}}
		if ours, theirs, _ := written(t, method, url, h, body); ours != theirs {
			t.Errorf("got\n%q\nwant\n%q", ours, theirs)
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 330)
	h := Signer{UserAgent: "claviger"}.Headers(1, 1, time.Now(), NewSecrets("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), body)
	w := bufio.NewWriter(io.Discard)
	for name, write := range map[string]func(*http.Request) error{
		"ours":     func(req *http.Request) error { return write(w, req, body) },
		"net/http": func(req *http.Request) error { return req.Write(w) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				req, err := http.NewRequest(http.MethodPost, "https://example.com/hook", bytes.NewReader(body)) //nolint:noctx // not sent
				if err != nil {
					b.Fatal(err)
				}
				req.Header = h
				if err := write(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
