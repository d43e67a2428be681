package verify_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"claviger/docs"
	verify "claviger/sdk/verify/go"
)

// call is one use of a verifier.
type call struct {
	Name    string         `json:"name"`
	Secret  string         `json:"secret"`
	Headers map[string]any `json:"headers"` // texts, or other types that a framework may pass
	Body    string         `json:"body"`
	Now     int64          `json:"now"` // seconds
	Want    string         `json:"want"`
}

// Results of a verifier.
const (
	right    = "right"
	wrong    = "wrong"
	unusable = "unusable" // the secret is unusable
)

// vectors returns the calls that docs/webhooks.md publishes.
func vectors(t *testing.T) []call {
	t.Helper()
	var all []call
	for i, block := range docs.Blocks(docs.Webhooks, "text") {
		head, body, _ := strings.Cut(block, "\n\n")
		c := call{Name: "vector " + strconv.Itoa(i+1), Body: body, Want: right, Headers: map[string]any{}}
		previous := ""
		for line := range strings.SplitSeq(head, "\n") {
			switch name, value, _ := strings.Cut(line, ": "); name {
			case "secret":
				c.Secret = value
			case "previous secret":
				previous = value
			default:
				c.Headers[strings.ToLower(name)] = value
			}
		}
		sec, err := strconv.ParseInt(c.Headers["webhook-timestamp"].(string), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		c.Now = sec + 1
		all = append(all, c)
		if previous != "" {
			c.Name, c.Secret = c.Name+" with the previous secret", previous
			all = append(all, c)
		}
	}
	if len(all) != 10 {
		t.Fatalf("docs/webhooks.md has %d calls", len(all))
	}
	return all
}

// calls returns the vectors, each damaged in every way, and arbitrary input.
func calls(t *testing.T) []call {
	t.Helper()
	all := vectors(t)
	good := all[0]
	add := func(c call, name, want string, change func(*call)) {
		c.Headers = maps.Clone(c.Headers)
		change(&c)
		c.Name, c.Want = c.Name+": "+name, want
		all = append(all, c)
	}
	for _, c := range vectors(t) {
		add(c, "another body", wrong, func(c *call) { c.Body += " " })
		add(c, "another id", wrong, func(c *call) { c.Headers["webhook-id"] = "evt_7" })
		add(c, "another time", wrong, func(c *call) { c.Headers["webhook-timestamp"] = strconv.FormatInt(c.Now, 10) })
		add(c, "five minutes", right, func(c *call) { c.Now += 5*60 - 1 })
		add(c, "later", wrong, func(c *call) { c.Now += 5 * 60 })
		add(c, "earlier", wrong, func(c *call) { c.Now -= 6 * 60 })
		add(c, "another secret", wrong, func(c *call) { c.Secret = "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=" })
		add(c, "the secret as text", wrong, func(c *call) { c.Secret = "x" + c.Secret })
	}
	signature := good.Headers["webhook-signature"].(string)
	add(good, "a second signature", right, func(c *call) { c.Headers["webhook-signature"] = "v2,abc " + signature })
	for _, secret := range []string{"", "whsec_", "whsec_****", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwZ2tJ4cD1xY8"} {
		add(good, "the secret "+secret, unusable, func(c *call) { c.Secret = secret })
	}
	for _, v := range []any{
		nil, "", " ", "0", "-1", "1.5", "1e9", "NaN", "null", "²", "١٢٣", "é", "🦊", "v1,", "v1,abc", strings.TrimPrefix(signature, "v1,"), signature[:40], signature + "\n",
		strings.Repeat("9", 400), strings.Repeat("a", 47), strings.Repeat("é", 47), strings.Repeat("A", 1<<16), 0, 1, true,
		[]any{},
		[]any{signature},
		map[string]any{},
	} {
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			add(good, "odd "+name, wrong, func(c *call) { c.Headers[name] = v })
		}
	}
	add(good, "no headers", wrong, func(c *call) { c.Headers = map[string]any{} })
	return all
}

func TestWebhook(t *testing.T) {
	for _, c := range calls(t) {
		h := http.Header{}
		for name, v := range c.Headers {
			if text, ok := v.(string); ok { // Go headers are always strings
				h.Set(name, text)
			}
		}
		got := right
		switch err := verify.Webhook(c.Secret, h, []byte(c.Body), time.Unix(c.Now, 0)); {
		case errors.Is(err, verify.ErrSignature):
			got = wrong
		case errors.Is(err, verify.ErrSecret):
			got = unusable
		}
		if got != c.Want {
			t.Errorf("%s: %s, want %s", c.Name, got, c.Want)
		}
	}
}

// others run the verifiers of the other languages on calls from standard input, and print differing
// results. An exception that is not about the secret ends the program.
var others = map[string]struct {
	command []string
	code    string
}{
	"js": {[]string{"node", "--input-type=module", "--eval"}, `
import { readFileSync } from "node:fs";
import { verifyWebhook } from "./js/verify.mjs";
for (const c of JSON.parse(readFileSync(0))) {
  let got = "unusable";
  try { got = verifyWebhook(c.secret, c.headers, Buffer.from(c.body), c.now * 1000) ? "right" : "wrong"; } catch (err) { if (!(err instanceof TypeError) || !err.message.startsWith("claviger: ")) throw err; }
  if (got !== c.want) console.log(c.name, got);
  if (c.want === "right" && !verifyWebhook(c.secret, new Headers(c.headers), Buffer.from(c.body), c.now * 1000)) console.log(c.name, "by fetch");
  if (c.want === "right" && verifyWebhook(c.secret, c.headers, c.body, c.now * 1000)) console.log(c.name, "a body of text");
  if (c.want === "right" && verifyWebhook(c.secret, c.headers, Buffer.from(c.body))) console.log(c.name, "is not old");
}`},
	"python": {[]string{"python3", "-B", "-c"}, `
import json, sys
sys.path.insert(0, "python")
from verify import verify_webhook
for c in json.load(sys.stdin.buffer):
    try:
        got = "right" if verify_webhook(c["secret"], c["headers"], c["body"].encode(), c["now"]) else "wrong"
    except ValueError:
        got = "unusable"
    if got != c["want"]:
        print(c["name"], got)
    if c["want"] == "right" and (verify_webhook(c["secret"], c["headers"], c["body"], c["now"]) or verify_webhook(c["secret"], c["headers"], c["body"].encode())):
        print(c["name"], "a body of text, or old")`},
	"php": {[]string{"php", "-r"}, `
require 'php/verify.php';
set_error_handler(function ($number, $text) { throw new ErrorException($text); });
foreach (json_decode(file_get_contents('php://stdin'), true) as $c) {
    try {
        $got = verify_webhook($c['secret'], $c['headers'], $c['body'], $c['now']) ? 'right' : 'wrong';
        if ($got === 'right' && (!verify_webhook($c['secret'], array_change_key_case($c['headers'], CASE_UPPER), $c['body'], $c['now']) || verify_webhook($c['secret'], $c['headers'], $c['body']))) { echo $c['name'], " in upper case, or old\n"; }
    } catch (InvalidArgumentException $e) {
        $got = 'unusable';
    }
    if ($got !== $c['want']) { echo $c['name'], ' ', $got, "\n"; }
}`},
}

// TestOtherLanguages: the verifiers agree.
func TestOtherLanguages(t *testing.T) {
	input, err := json.Marshal(calls(t))
	if err != nil {
		t.Fatal(err)
	}
	for language, o := range others {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(o.command[0]); err != nil {
				t.Skipf("%s is not on this machine", o.command[0])
			}
			run := exec.CommandContext(t.Context(), o.command[0], append(o.command[1:], o.code)...)
			run.Dir, run.Stdin = "..", bytes.NewReader(input)
			if out, err := run.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v: %.2000s", err, out)
			}
		})
	}
}
