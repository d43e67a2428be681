package courier_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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

// TestGoSample: the page's Go lines are the ones above, which the tests use.
func TestGoSample(t *testing.T) {
	source, err := os.ReadFile("sample_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if sample := blocks(t, "go"); len(sample) != 1 || !strings.Contains(string(source), "\n"+sample[0]+"\n") {
		t.Errorf("docs/webhooks.md has other lines than sample_test.go: %s", sample)
	}
}

// call is one use of a sample.
type call struct {
	Secret    string `json:"secret"`
	Timestamp string `json:"timestamp"`
	Signature string `json:"signature"`
	Body      string `json:"body"`
	Now       int64  `json:"now"` // milliseconds
	Want      bool   `json:"want"`
}

// calls are the published vectors, and each of them spoilt in every way.
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
			func(c *call) { c.Signature = strings.ToUpper(c.Signature) },
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

func TestSamplesRefuse(t *testing.T) {
	for _, c := range calls(t) {
		if got := verify(c.Secret, c.Timestamp, c.Signature, []byte(c.Body), time.UnixMilli(c.Now)); got != c.Want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestSamples runs the page's lines in the other languages, where the machine has
// them, on the published vectors.
func TestSamples(t *testing.T) {
	input, err := json.Marshal(calls(t))
	if err != nil {
		t.Fatal(err)
	}
	for language, c := range map[string]struct{ program, file, harness string }{
		"js": {"node", "sample.js", `
for (const c of JSON.parse(require("node:fs").readFileSync(0))) {
  if (verify(c.secret, c.timestamp, c.signature, Buffer.from(c.body), c.now) !== c.want) console.log(JSON.stringify(c));
}`},
		"python": {"python3", "sample.py", `
import json, sys
for c in json.load(sys.stdin.buffer):
    if verify(c["secret"], c["timestamp"], c["signature"], c["body"].encode(), c["now"] / 1000) != c["want"]:
        print(c)`},
		"php": {"php", "sample.php", `
foreach (json_decode(file_get_contents('php://stdin'), true) as $c) {
    if (verify($c['secret'], $c['timestamp'], $c['signature'], $c['body'], $c['now'] / 1000) !== $c['want']) { print_r($c); }
}`},
	} {
		t.Run(language, func(t *testing.T) {
			samples := blocks(t, language)
			if len(samples) != 1 {
				t.Fatalf("docs/webhooks.md has %d blocks of %s, want 1", len(samples), language)
			}
			program, err := exec.LookPath(c.program)
			if err != nil {
				t.Skipf("%s is not on this machine", c.program)
			}
			code := samples[0] + "\n" + c.harness + "\n"
			if language == "php" {
				code = "<?php\n" + code
			}
			file := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), program, file)
			run.Stdin = strings.NewReader(string(input))
			if out, err := run.CombinedOutput(); err != nil || len(out) > 0 {
				t.Error(fmt.Errorf("%w: %s", err, out))
			}
		})
	}
}
