package courier_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// verify is the sample of docs/webhooks.md.
func verify(secret, timestamp, signature string, body []byte, now time.Time) bool {
	ms, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.UnixMilli(ms)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp))
	mac.Write(body)
	return hmac.Equal([]byte(hex.EncodeToString(mac.Sum(nil))), []byte(signature))
}

// TestGoSample: the page's Go code equals the code above, which the tests use.
func TestGoSample(t *testing.T) {
	samples := blocks(t, "go")
	if len(samples) != 2 {
		t.Fatalf("docs/webhooks.md has %d blocks of Go, want 2", len(samples))
	}
	for i, file := range []string{"sample_test.go", "handler_test.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(source), "\n"+samples[i]+"\n") {
			t.Errorf("docs/webhooks.md has other lines than %s: %s", file, samples[i])
		}
	}
}

// call is one use of a sample.
type call struct {
	Secret    string `json:"secret"`
	Timestamp any    `json:"timestamp"` // a string, or another type from a framework
	Signature any    `json:"signature"`
	Body      string `json:"body"`
	Now       int64  `json:"now"` // milliseconds
	Want      bool   `json:"want"`
}

// calls returns the published vectors, and each of them corrupted in every way.
func calls(t *testing.T) []call {
	t.Helper()
	var all []call
	for _, p := range readVectors(t) {
		timestamp, signature := p.brandHeaders(t)
		ms, err := strconv.ParseInt(timestamp, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		good := call{Secret: p.current, Timestamp: timestamp, Signature: signature, Body: string(p.body), Now: ms + 1000, Want: true}
		if p.previous != "" {
			good.Secret = p.previous
		}
		all = append(all, good)
		for _, spoil := range []func(*call){
			func(c *call) { c.Secret += "x" },
			func(c *call) { c.Timestamp = strconv.FormatInt(ms+1, 10) },
			func(c *call) { c.Timestamp = "" },
			func(c *call) { c.Signature = strings.ToUpper(signature) },
			func(c *call) { c.Signature = "" },
			func(c *call) { c.Body += " " },
			func(c *call) { c.Now += 6 * 60 * 1000 },
			func(c *call) { c.Now -= 6 * 60 * 1000 },
		} {
			bad := good
			spoil(&bad)
			bad.Want = false
			all = append(all, bad)
		}
	}
	return all
}

// raw is a header of arbitrary bytes.
type raw []byte

// MarshalJSON encodes the bytes for a sample's harness.
func (r raw) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"bytes": base64.StdEncoding.EncodeToString(r)})
}

// odd returns calls that a stranger can cause and that must not verify: headers that are missing,
// empty, repeated, huge, of odd characters or of another type.
func odd(t *testing.T) []call {
	t.Helper()
	good := calls(t)[0]
	values := []any{
		nil, "", " ", "0", "-1", "+1", "1.5", "1e9", "0x10", "NaN", "Infinity", "null", "undefined", "\x00", "²", "١٢٣", "é", "🦊", "v1,abc", "zz",
		strings.Repeat("9", 400), strings.Repeat("9", 5000), strings.Repeat("a", 64), strings.Repeat("é", 64), strings.Repeat("é", 32), strings.Repeat("A", 1<<16),
		good.Timestamp.(string) + "\n", good.Timestamp.(string) + ", " + good.Timestamp.(string), good.Signature.(string) + "\n", good.Signature.(string)[:63],
		raw{0xff, 0xfe},
		raw(strings.Repeat("\xff", 64)),
		raw{0},
		0, 1, -1, 1.5, true, false,
		[]any{},
		[]any{good.Signature},
		[]any{good.Timestamp},
		map[string]any{},
	}
	var all []call
	for _, v := range values {
		for _, spoil := range []func(*call){
			func(c *call) { c.Timestamp = v },
			func(c *call) { c.Signature = v },
			func(c *call) { c.Timestamp, c.Signature = v, v },
		} {
			bad := good
			spoil(&bad)
			bad.Want = false
			all = append(all, bad)
		}
	}
	random := rand.New(rand.NewPCG(1, 2)) // the same on every run
	for range 2000 {
		bad, noise := good, make(raw, random.IntN(80))
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		bad.Want = false
		if random.IntN(2) == 0 {
			bad.Signature = noise
		} else {
			bad.Timestamp = noise
		}
		all = append(all, bad)
	}
	return all
}

func TestSamplesRefuse(t *testing.T) {
	text := func(v any) string {
		switch v := v.(type) {
		case string:
			return v
		case raw:
			return string(v)
		default:
			return "" // not possible as a Go header
		}
	}
	for _, c := range append(calls(t), odd(t)...) {
		if got := verify(c.Secret, text(c.Timestamp), text(c.Signature), []byte(c.Body), time.UnixMilli(c.Now)); got != c.Want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// harnesses run the samples of the other languages on calls from standard input, and print those
// with a wrong result. An exception in a sample ends its harness.
var harnesses = map[string]struct{ program, file, code string }{
	"js": {"node", "sample.js", `
const decode = (v) => (v !== null && typeof v === "object" && "bytes" in v ? Buffer.from(v.bytes, "base64").toString("latin1") : v);
for (const c of JSON.parse(require("node:fs").readFileSync(0))) {
  if (verify(c.secret, decode(c.timestamp), decode(c.signature), Buffer.from(c.body), c.now) !== c.want) console.log(JSON.stringify(c));
}
for (const body of [undefined, null, {}, "text", 1]) if (verify("s", "1", "a", body, 1) !== false) console.log(body);
if (verify("s", undefined, undefined, Buffer.alloc(0)) !== false) console.log("nothing");`},
	"python": {"python3", "sample.py", `
import base64, json, sys
def decode(v):
    return base64.b64decode(v["bytes"]).decode("latin-1") if isinstance(v, dict) and "bytes" in v else v
for c in json.load(sys.stdin.buffer):
    if verify(c["secret"], decode(c["timestamp"]), decode(c["signature"]), c["body"].encode(), c["now"] / 1000) is not c["want"]:
        print(c)
for body in (None, "text", 1, {}):
    if verify("s", "1", "a", body, 1) is not False:
        print(body)
if verify("s", "1000", "\\udcff" * 64, b"", 1) is not False: # as some servers hand over bytes that are not UTF-8
    print("surrogates")`},
	"php": {"php", "sample.php", `
set_error_handler(function ($number, $text) { throw new ErrorException($text); });
function decode($v) { return is_array($v) && isset($v['bytes']) ? base64_decode($v['bytes']) : $v; }
foreach (json_decode(file_get_contents('php://stdin'), true) as $c) {
    if (verify($c['secret'], decode($c['timestamp']), decode($c['signature']), $c['body'], $c['now'] / 1000) !== $c['want']) { print_r($c); }
}
foreach ([null, false, [], 1] as $body) {
    if (verify('s', '1', 'a', $body, 1) !== false) { print_r($body); }
}`},
}

// program finds the program of a language, or skips the test: script/php installs those that make
// test needs.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not on this machine", name)
	}
	return path
}

// source writes the page's code of a language and more to a file.
func source(t *testing.T, language, name, more string) string {
	t.Helper()
	samples := blocks(t, language)
	if len(samples) != 2 {
		t.Fatalf("docs/webhooks.md has %d blocks of %s, want 2", len(samples), language)
	}
	code := strings.Join(samples, "\n\n") + "\n" + more + "\n"
	if language == "php" {
		code = "<?php\n" + code
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSamples runs the page's code in the other languages on the published vectors and on malicious
// input.
func TestSamples(t *testing.T) {
	input, err := json.Marshal(append(calls(t), odd(t)...))
	if err != nil {
		t.Fatal(err)
	}
	for language, c := range harnesses {
		t.Run(language, func(t *testing.T) {
			run := exec.CommandContext(t.Context(), program(t, c.program), source(t, language, c.file, c.code))
			run.Stdin = bytes.NewReader(input)
			if out, err := run.CombinedOutput(); err != nil || len(out) > 0 {
				t.Error(fmt.Errorf("%w: %s", err, out[:min(len(out), 2000)]))
			}
		})
	}
}
