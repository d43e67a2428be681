package verify_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/diagnose/verify"
)

const (
	liveSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwZ2tJ4cD1xY8="
	nextSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD/qW9eRtYuIo="
)

var (
	signedAt = time.Date(2026, 3, 4, 12, 0, 0, 456e6, time.UTC)
	acme     = courier.Signer{Brand: "Acme"}
	sentBody = courier.Body(courier.Event{
		LicenseKey: "5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11", Kind: "activate", Status: "active", At: signedAt, EventID: 42, Tier: 2,
		Reason: "redeemed", Sentence: diagnose.TestSentence, Test: true, CreatedAt: signedAt, PlanName: "Größe <L> & “más” 東",
	})
)

// genuine returns a post of ours as received.
func genuine(newestFirst ...string) verify.Received {
	sent := acme.Headers(42, 1, signedAt, courier.NewSecrets(newestFirst...), sentBody)
	h := http.Header{}
	for name, values := range sent {
		h.Set(name, values[0])
	}
	return verify.Received{Header: h, Body: sentBody, At: signedAt.Add(time.Second)}
}

// states summarizes the findings: the parts that are not right.
func states(v verify.Result) string {
	var list []string
	for _, f := range v.Findings {
		if f.State != verify.Right {
			list = append(list, fmt.Sprintf("%s %s", f.Part, f.State))
		}
	}
	return strings.Join(list, ", ")
}

func texts(v verify.Result) string {
	var b strings.Builder
	for _, f := range v.Findings {
		fmt.Fprintf(&b, "%s %s: %s. %s\n", f.Part, f.State, f.Text, f.Do)
	}
	return b.String()
}

func mac(key, text string) []byte {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(text))
	return m.Sum(nil)
}

// again returns the body parsed and written again.
func again(t *testing.T, change func(v any) ([]byte, error)) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(sentBody, &v); err != nil {
		t.Fatal(err)
	}
	b, err := change(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestVerifyNamesThePart: for each way in which verification can fail, only the wrong part is
// named.
func TestVerifyNamesThePart(t *testing.T) {
	ms := strconv.FormatInt(signedAt.UnixMilli(), 10)
	utf := string(sentBody)
	var latin []rune
	for _, b := range sentBody {
		latin = append(latin, rune(b))
	}
	for name, c := range map[string]struct {
		change  func(r *verify.Received)
		secrets []string // newest first; none: the live one
		want    string   // parts that are not right
		text    string   // in the findings
	}{
		"genuine":                     {func(*verify.Received) {}, nil, "", "these are the bytes that we signed"},
		"genuine by one header":       {func(r *verify.Received) { r.Header.Del("webhook-signature") }, nil, "", "current webhook secret signed it"},
		"genuine by the other header": {func(r *verify.Received) { r.Header.Del("X-Acme-Signature"); r.Header.Del("X-Acme-Timestamp") }, nil, "", "current webhook secret"},
		"line break":                  {func(r *verify.Received) { r.Body = []byte(utf + "\n") }, nil, "bytes wrong", "a line break was added"},
		"CR LF at the end":            {func(r *verify.Received) { r.Body = []byte(utf + "\r\n") }, nil, "bytes wrong", "a line break was added"},
		"byte order mark":             {func(r *verify.Received) { r.Body = []byte("\ufeff" + utf + " ") }, nil, "bytes wrong", "byte order mark"},
		"latin-1":                     {func(r *verify.Received) { r.Body = []byte(string(latin)) }, nil, "bytes wrong", "Latin-1"},
		"indented, CR LF": {func(r *verify.Received) {
			r.Body = []byte(strings.ReplaceAll(strings.ReplaceAll(utf, `,"`, ",\r\n  \""), `":`, `": `))
		}, nil, "bytes wrong", "spaces or line breaks were added"},
		"HTML escaped": {func(r *verify.Received) {
			r.Body = []byte(strings.NewReplacer("&", `\u0026`, "<", `\u003c`, "é", `\u00e9`, "/", `\/`).Replace(utf))
		}, nil, "bytes wrong", "characters were escaped"},
		"sorted by Go": {func(r *verify.Received) { r.Body = again(t, json.Marshal) }, nil, "bytes wrong", "another order"},
		"changed, and we know what we sent": {func(r *verify.Received) {
			r.Sent, r.Body = sentBody, []byte(strings.Replace(utf, `"tier":2`, `"tier":3`, 1))
		}, nil, "bytes wrong", `byte 153 is the first that differs; we sent “":42,"tier":2,`},
		"cut, and we know what we sent": {func(r *verify.Received) { r.Sent, r.Body = sentBody, sentBody[:100] }, nil, "bytes wrong", "cut after 100 of"},
		"changed":                       {func(r *verify.Received) { r.Body = []byte(strings.Replace(utf, `"tier":2`, `"tier":3`, 1)) }, nil, "bytes unclear, secret unclear", "no secret of yours signed"},
		"right bytes, another secret":   {func(r *verify.Received) { r.Sent = sentBody }, []string{nextSecret}, "secret unclear", "we sent for this event"},
		"no headers":                    {func(r *verify.Received) { r.Header = http.Header{} }, nil, "header wrong, bytes unclear, secret unclear, clock unclear", "no signature among the headers"},
		"another brand": {func(r *verify.Received) {
			r.Header.Set("X-Licensing-Signature", r.Header.Get("X-Acme-Signature"))
			r.Header.Set("X-Licensing-Timestamp", ms)
			for _, n := range []string{"X-Acme-Signature", "X-Acme-Timestamp", "webhook-signature", "webhook-timestamp", "webhook-id"} {
				r.Header.Del(n)
			}
		}, nil, "header wrong", "the signature is in X-Licensing-Signature, and we send it in X-Acme-Signature"},
		"no timestamp": {func(r *verify.Received) {
			r.Header.Del("X-Acme-Timestamp")
			r.Header.Del("webhook-signature")
		}, nil, "header wrong, bytes unclear, secret unclear", "X-Acme-Timestamp is missing"},
		"base64 for hex": {func(r *verify.Received) {
			r.Header.Set("X-Acme-Signature", base64.StdEncoding.EncodeToString(mac(liveSecret, ms+utf)))
		}, nil, "header wrong", "is base64"},
		"upper case": {func(r *verify.Received) {
			r.Header.Set("X-Acme-Signature", strings.ToUpper(r.Header.Get("X-Acme-Signature")))
		}, nil, "header wrong", "lower-case hex digits"},
		"the other's value": {func(r *verify.Received) { r.Header.Set("X-Acme-Signature", r.Header.Get("webhook-signature")) }, nil, "header wrong", "is that of webhook-signature"},
		"cut signature":     {func(r *verify.Received) { r.Header.Set("webhook-signature", "v1,abc") }, nil, "header wrong", "was it cut"},
		"seconds": {func(r *verify.Received) {
			r.Header.Set("X-Acme-Timestamp", ms[:10])
			r.Header.Del("webhook-signature")
		}, nil, "header wrong", "is in seconds, and we send milliseconds"},
		"of two posts": {func(r *verify.Received) { r.Header.Set("webhook-timestamp", "1772625700") }, nil, "header wrong", "of different posts"},
		"late":         {func(r *verify.Received) { r.At = signedAt.Add(6*time.Minute + 7*time.Second) }, nil, "clock wrong", "6m7s after it was signed"},
		"a zone":       {func(r *verify.Received) { r.At = signedAt.Add(-2 * time.Hour) }, nil, "clock wrong", "time zone"},
		"five minutes": {func(r *verify.Received) { r.At = signedAt.Add(5 * time.Minute) }, nil, "", ""},
		"no time":      {func(r *verify.Received) { r.At = time.Time{} }, nil, "clock unclear", "Give the time"},

		"the right secret":      {func(r *verify.Received) { r.Secret = liveSecret }, nil, "", "has the current webhook secret"},
		"a secret with a break": {func(r *verify.Received) { r.Secret = liveSecret + "\n" }, nil, "secret wrong", "a line break or quotes"},
		"without whsec_":        {func(r *verify.Received) { r.Secret = liveSecret[6:] }, nil, "secret wrong", "whsec_ is missing"},
		"an API key":            {func(r *verify.Received) { r.Secret = "lk_0f9d8c7b6a5f4e3d" }, nil, "secret wrong", "This is an API key"},
		"another secret":        {func(r *verify.Received) { r.Secret = nextSecret }, nil, "secret wrong", "none of yours"},
		"old during overlap":    {func(r *verify.Received) { r.Secret = liveSecret }, []string{nextSecret, liveSecret}, "", "old webhook secret, which is valid"},
		"new during overlap":    {func(r *verify.Received) { r.Secret = nextSecret }, []string{nextSecret, liveSecret}, "secret wrong", "Verify with both"},
	} {
		t.Run(name, func(t *testing.T) {
			r := genuine(liveSecret)
			c.change(&r)
			secrets := c.secrets
			if secrets == nil {
				secrets = []string{liveSecret}
			}
			v := verify.Webhook(acme, r, courier.NewSecrets(secrets...))
			if got := states(v); got != c.want || !strings.Contains(texts(v), c.text) {
				t.Errorf("not right: %q, want %q (%s)\n%s", got, c.want, c.text, texts(v))
			}
			if v.Genuine != strings.HasPrefix(v.Findings[1].Text, "these are the bytes that we signed") && name != "seconds" {
				t.Errorf("genuine: %v\n%s", v.Genuine, texts(v))
			}
		})
	}
}

// TestVerifyNamesTheMistakeOfTheCode: the computed signature reveals the mistake.
func TestVerifyNamesTheMistakeOfTheCode(t *testing.T) {
	ms := strconv.FormatInt(signedAt.UnixMilli(), 10)
	body := string(sentBody)
	raw, _ := base64.StdEncoding.DecodeString(liveSecret[6:])
	b64 := base64.StdEncoding.EncodeToString
	for name, c := range map[string]struct {
		computed string
		text     string
		right    bool
	}{
		"right":                    {hex.EncodeToString(mac(liveSecret, ms+body)), "computes the right signature; look at how it compares", true},
		"right, standard":          {"v1," + b64(mac(string(raw), "evt_42."+ms[:10]+"."+body)), "computes the right signature", true},
		"base64 for hex":           {b64(mac(liveSecret, ms+body)), "writes it in the wrong way", false},
		"hex for base64":           {hex.EncodeToString(mac(string(raw), "evt_42."+ms[:10]+"."+body)), "writes it in the wrong way", false},
		"body alone":               {hex.EncodeToString(mac(liveSecret, body)), "over the body alone", false},
		"seconds":                  {hex.EncodeToString(mac(liveSecret, ms[:10]+body)), "in the wrong unit", false},
		"a dot":                    {hex.EncodeToString(mac(liveSecret, ms+"."+body)), "a dot between", false},
		"the decoded secret":       {hex.EncodeToString(mac(string(raw), ms+body)), "wrong form of the secret", false},
		"without whsec_":           {hex.EncodeToString(mac(liveSecret[6:], ms+body)), "cuts whsec_ off", false},
		"parsed by PHP":            {hex.EncodeToString(mac(liveSecret, ms+strings.ReplaceAll(ascii(body), "/", `\/`))), "PHP", false},
		"echo":                     {hex.EncodeToString(mac(liveSecret, ms+body+"\n")), "printf", false},
		"a break in the secret":    {hex.EncodeToString(mac(liveSecret+"\n", ms+body)), "end of its secret", false},
		"no secret":                {hex.EncodeToString(mac("", ms+body)), "empty secret", false},
		"body first":               {hex.EncodeToString(mac(liveSecret, body+ms)), "the timestamp first", false},
		"another secret":           {hex.EncodeToString(mac(nextSecret, ms+body)), "with another secret than ours", false},
		"nothing that is known":    {hex.EncodeToString(mac("x", "y")), "Compare the text", false},
		"not a signature at all":   {"true", "no HMAC-SHA256", false},
		"with a prefix, in quotes": {`"sha256=` + hex.EncodeToString(mac(liveSecret, ms+body)) + `"`, "right signature", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := genuine(liveSecret)
			r.Computed = c.computed
			if name == "another secret" {
				r.Secret = nextSecret
			}
			v := verify.Webhook(acme, r, courier.NewSecrets(liveSecret))
			last := v.Findings[len(v.Findings)-1]
			if last.Part != verify.PartCode || !strings.Contains(last.Text+" "+last.Do, c.text) || (last.State == verify.Right) != c.right {
				t.Errorf("%+v, want %s", last, c.text)
			}
		})
	}
}

// ascii returns a text with JSON escapes for non-ASCII characters.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 0x7f {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// TestVerifyShowsNoSignature: users of the check must not be able to sign.
func TestVerifyShowsNoSignature(t *testing.T) {
	r := genuine(liveSecret)
	r.Header.Set("X-Acme-Signature", strings.Repeat("0", 64))
	r.Header.Del("webhook-signature")
	r.Computed, r.Secret = strings.Repeat("1", 64), "guess"
	v := verify.Webhook(acme, r, courier.NewSecrets(liveSecret))
	right := mac(liveSecret, strconv.FormatInt(signedAt.UnixMilli(), 10)+string(sentBody))
	all := fmt.Sprintf("%+v", v)
	for _, secret := range []string{liveSecret, liveSecret[6:], hex.EncodeToString(right), base64.StdEncoding.EncodeToString(right), "guess"} {
		if strings.Contains(all, secret) {
			t.Errorf("it shows %s:\n%s", secret, all)
		}
	}
	if v.Genuine || v.Signed.Brand != strconv.FormatInt(signedAt.UnixMilli(), 10)+string(sentBody) {
		t.Errorf("%+v", v)
	}
}

func TestParseHeaders(t *testing.T) {
	const want = "abc"
	for name, text := range map[string]string{
		"lines":        "Host: x\nX-Acme-Signature: abc\n",
		"lower case":   "x-acme-signature:abc",
		"CR LF":        "Host: x\r\nX-Acme-Signature: abc\r\n",
		"curl":         "> POST /hook HTTP/1.1\n> Host: x\n> X-Acme-Signature: abc\n>",
		"Node.js":      `{"host":"x","x-acme-signature":"abc"}`,
		"lists":        `{"X-Acme-Signature":["abc"],"n":[1],"o":{}}`,
		"PHP":          "HTTP_X_ACME_SIGNATURE: abc",
		"environment":  "HTTP_X_ACME_SIGNATURE=abc\nHTTP_HOST=x:1",
		"PHP as JSON":  `{"HTTP_X_ACME_SIGNATURE":"abc"}`,
		"quoted names": `"X-Acme-Signature": abc`,
	} {
		if got := verify.ParseHeaders(text).Get("X-Acme-Signature"); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestParseMoment(t *testing.T) {
	for _, text := range []string{"2026-03-04T12:00:00Z", "2026-03-04T13:00:00+01:00", "2026-03-04 12:00:00", "1772625600", " 1772625600000 ", "Wed, 04 Mar 2026 12:00:00 GMT", "2026-03-04T12:00"} {
		if at, ok := verify.ParseMoment(text); !ok || !at.Equal(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)) {
			t.Errorf("%s: %s, %v", text, at, ok)
		}
	}
	for _, text := range []string{"", "noon", "12", "99999999999999999"} {
		if at, ok := verify.ParseMoment(text); ok {
			t.Errorf("%q: %s", text, at)
		}
	}
}

func FuzzVerify(f *testing.F) {
	r := genuine(liveSecret)
	f.Add(string(r.Body), "X-Acme-Timestamp: 1\nX-Acme-Signature: x", "abc", "s")
	f.Fuzz(func(t *testing.T, body, headers, computed, secret string) {
		v := verify.Webhook(acme, verify.Received{Header: verify.ParseHeaders(headers), Body: []byte(body), Computed: computed, Secret: secret, At: signedAt}, courier.NewSecrets(liveSecret, nextSecret))
		if v.Genuine || len(v.Findings) < 4 {
			t.Errorf("%+v", v)
		}
	})
}
