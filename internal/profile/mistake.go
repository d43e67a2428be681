package profile

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"claviger/internal/courier"
)

// forgery is how the signatures of a post are made. Each common mistake changes it.
type forgery struct {
	id, body        string
	ms, seconds     string // the timestamps that are sent
	brandKey, key   []byte
	brandText, text string
	brandForm, form func([]byte) string
	secrets         courier.Secrets
	also            []naming // further headers that hold the signatures
	swapped         bool     // each signature is in the other's headers
}

// forge signs a post in another way than ours; header has the names as they are
// sent.
func (t *trial) forge(header map[string][]string, eventID int64, at time.Time, body []byte, change func(*forgery)) courier.Signed {
	f := &forgery{
		id: "evt_" + strconv.FormatInt(eventID, 10), body: string(body),
		ms: strconv.FormatInt(at.UnixMilli(), 10), seconds: strconv.FormatInt(at.Unix(), 10),
		brandKey: []byte(t.secrets.Brand), key: courier.StandardKey(t.secrets.Current),
		brandForm: hex.EncodeToString, form: base64.StdEncoding.EncodeToString, secrets: t.secrets,
	}
	f.over(f.body)
	change(f)
	header[t.signer.TimestampHeader()] = []string{f.ms}
	header[t.signer.SignatureHeader()] = []string{f.brandForm(code(f.brandKey, f.brandText))}
	header[courier.HeaderTimestamp] = []string{f.seconds}
	header[courier.HeaderSignature] = []string{"v1," + f.form(code(f.key, f.text))}
	for _, n := range f.also {
		n.add(header, t.signer)
	}
	if f.swapped {
		swap(header, t.signer.TimestampHeader(), courier.HeaderTimestamp)
		swap(header, t.signer.SignatureHeader(), courier.HeaderSignature)
	}
	return courier.Signed{Standard: f.text, Brand: f.brandText}
}

func swap(header map[string][]string, a, b string) { header[a], header[b] = header[b], header[a] }

// over makes the texts to sign of the timestamps and a body.
func (f *forgery) over(body string) {
	f.brandText = f.ms + body
	f.text = f.id + "." + f.seconds + "." + body
}

func code(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(text)) // a hash never fails
	return mac.Sum(nil)
}

// mistake is a common way to verify a signature wrongly. A server that makes it
// accepts a post that is signed in this way.
type mistake struct {
	signed string // how the post was signed
	likely string // what the partner reads
	change func(*forgery)
	when   func(courier.Secrets) bool // nil: it is always possible
}

// mistakes are in the order of how common they are.
var mistakes = []mistake{
	{
		signed: "over the body alone",
		likely: "Your server computes the signature over the body alone. Put the timestamp before it: the text that we sign is shown here.",
		change: func(f *forgery) { f.brandText, f.text = f.body, f.body },
	},
	{
		signed: "over the body as Python's json.dumps writes it",
		likely: reserialised + "(as Python's json.dumps does, with spaces and \\u escapes).",
		change: func(f *forgery) { f.over(python(f.body)) },
	},
	{
		signed: "over the body in ASCII, as Python's json.dumps writes it without spaces",
		likely: reserialised + "(compactly, with \\u escapes, as Python's json.dumps does with separators).",
		change: func(f *forgery) { f.over(ascii(f.body)) },
	},
	{
		signed: "over the body as PHP's json_encode writes it",
		likely: reserialised + "(as PHP's json_encode does, with \\/ and \\u escapes).",
		change: func(f *forgery) { f.over(php(f.body)) },
	},
	{
		signed: "over the body with &, < and > escaped",
		likely: reserialised + "(with &, < and > escaped, as Go's json.Marshal and Rails do).",
		change: func(f *forgery) { f.over(escapedHTML.Replace(f.body)) },
	},
	{
		signed: "with its timestamps in the other unit",
		likely: "Your server reads a timestamp in the wrong unit: X-<Brand>-Timestamp is in milliseconds, webhook-timestamp in seconds.",
		change: func(f *forgery) {
			f.ms, f.seconds = f.seconds, f.ms
			f.over(f.body)
		},
	},
	{
		signed: "over its timestamps converted to the other unit",
		likely: converted,
		change: func(f *forgery) {
			f.brandText, f.text = f.seconds+f.body, f.id+"."+f.seconds+"000."+f.body
		},
	},
	{
		signed: "over its milliseconds converted to seconds with a fraction",
		likely: converted,
		change: func(f *forgery) { // The fraction is one that no language writes shorter.
			f.ms = f.seconds + "001"
			f.brandText, f.text = f.seconds+".001"+f.body, f.id+"."+f.seconds+".001."+f.body
		},
	},
	{
		signed: "over the timestamp, a dot and the body",
		likely: "Your server puts a dot between timestamp and body. X-<Brand>-Signature has nothing between them; webhook-signature has the id, a dot, the timestamp, a dot, the body.",
		change: func(f *forgery) { f.brandText, f.text = f.ms+"."+f.body, f.seconds+"."+f.body },
	},
	{
		signed: "with the key of the other header",
		likely: "Your server uses the wrong form of the secret as its key: X-<Brand>-Signature has the secret as shown, whsec_ included; webhook-signature the base64 behind whsec_, decoded.",
		change: func(f *forgery) {
			f.brandKey, f.key = courier.StandardKey(f.secrets.Brand), []byte(f.secrets.Current)
		},
		when: standardForm,
	},
	{
		signed: "with the secret without whsec_ as key",
		likely: "Your server cuts whsec_ off the secret. X-<Brand>-Signature has the secret as shown, whsec_ included; webhook-signature the base64 behind it, decoded.",
		change: func(f *forgery) { f.brandKey, f.key = bare(f.secrets.Brand), bare(f.secrets.Current) },
		when:   standardForm,
	},
	{
		signed: "with each signature in the other's headers",
		likely: "Your server looks for the signature in the wrong header. X-<Brand>-Signature and X-<Brand>-Timestamp belong together, and so do webhook-signature, webhook-id and webhook-timestamp.",
		change: func(f *forgery) { f.swapped = true },
	},
	{
		signed: "with hex and base64 exchanged",
		likely: "Your server writes the signature in the wrong way: X-<Brand>-Signature is lower-case hex, webhook-signature is v1, and base64.",
		change: func(f *forgery) { f.brandForm, f.form = f.form, f.brandForm },
	},
	{
		signed: "with the new secret where the old one signs until the overlap ends",
		likely: "Your server has the new secret only. X-<Brand>-Signature is made by the old one until the overlap ends: verify with both until then, or check webhook-signature, which has both.",
		change: func(f *forgery) { f.brandKey = []byte(f.secrets.Current) },
		when:   func(s courier.Secrets) bool { return s.Brand != s.Current },
	},
}

func standardForm(s courier.Secrets) bool { return strings.HasPrefix(s.Current, "whsec_") }

const reserialised = "Your server parses the body and writes it again before it computes the signature. Use the raw bytes of the request; what is written again differs "

const converted = "Your server converts the timestamp before it computes the signature. Sign it as it was sent: X-<Brand>-Timestamp in milliseconds, webhook-timestamp in seconds."

func bare(secret string) []byte { return []byte(strings.TrimPrefix(secret, "whsec_")) }

// refusesSignature reports whether the answers are those to a wrong signature.
func refusesSignature(posts []*result) bool {
	return !slices.ContainsFunc(posts, func(r *result) bool {
		switch s := r.answer.Status; s {
		case 400, 401, 403, 422:
			return false
		default:
			return s < 200 || s > 299 || courier.Success(r.answer.Body) != courier.SaysNo
		}
	})
}

// diagnose finds out what is wrong when every post was refused: it makes the common
// mistakes one after another until such a post is accepted. A partner that cannot
// have the secret yet makes no mistake.
func (t *trial) diagnose(ctx context.Context, posts []*result) []*result {
	refused := slices.Clone(posts)
	if !t.newSecrets {
		more, found := t.misnamed(ctx, refused[0].answer)
		posts = append(posts, more...)
		if found != "" {
			prependLikely(refused, found)
			return posts
		}
	}
	for _, m := range mistakes {
		if t.newSecrets || ctx.Err() != nil {
			break
		}
		if m.when != nil && !m.when(t.secrets) {
			continue
		}
		step := fmt.Sprintf("POST %s: purchase signed %s, to find the mistake", webhookField, m.signed)
		r := t.try(ctx, step, acts[0], m.change)
		r.Warning, r.Likely = true, nil // It is not this one that is refused.
		posts = append(posts, r)
		if r.OK {
			r.OK, r.Text, r.Likely = false, "it was accepted, and must not be", []string{t.withBrand(m.likely)}
			prependLikely(refused, r.Likely...)
			return posts
		}
	}
	prependLikely(refused, t.suspicions(refused[0].answer)...)
	return posts
}

// suspicions are what may be wrong when no common mistake explains a refusal.
func (t *trial) suspicions(a courier.Answer) []string {
	list := t.signer.Unmet(a)
	if t.newSecrets {
		list = append(list, "The partner cannot know its webhook secret yet: it is made with the partner. Create the partner without validate, hand the secret over, then change the URL with validate.")
	}
	if courier.IsPage(a) {
		list = append(list, "The answer is a web page and not that of an API: a firewall, a login or CSRF protection may be in front of your handler. Let posts to this URL through; the signature protects it.")
	}
	const accepts = `it must accept license keys and members that it does not know, and answer "test": true as any other.`
	secret := []string{
		"Is it the right secret? It is the webhook secret as it was shown, whsec_ included; neither the API key, unless the marketplace set a single key, nor the client secret.",
		"Compare the text that your code signs with the one shown here, byte by byte: the timestamp of " + t.signer.TimestampHeader() + " and at once the raw body.",
		"Does your code find the header " + t.signer.SignatureHeader() + "? Node.js has the names in lower case; PHP writes them as HTTP_, in capitals, with _ for -.",
	}
	if a.Status > 299 {
		return append(append(list, secret...), "Or your handler refuses the event itself: "+accepts)
	}
	// A refusal with a 2xx status comes from the program itself, and may have another
	// reason than the signature.
	return append(append(list,
		"Your program refuses every post: look at what it refuses, and why; its answer or its log may say. Or it does not have the right secret.",
		"Look at how it handles the event: "+accepts), secret...)
}

// withBrand puts the partner's header names into a text.
func (t *trial) withBrand(text string) string {
	return strings.ReplaceAll(text, "<Brand>", cmp.Or(t.signer.Brand, "Licensing"))
}

// prependLikely puts what was found out before what the answer alone suggests.
func prependLikely(posts []*result, likely ...string) {
	for _, r := range posts {
		rest := slices.DeleteFunc(slices.Clone(r.Likely), func(s string) bool { return slices.Contains(likely, s) })
		r.Likely = append(slices.Clone(likely), rest...)
	}
}

// escapedHTML escapes what some writers of JSON do.
var escapedHTML = strings.NewReplacer("&", `\u0026`, "<", `\u003c`, ">", `\u003e`)

// python is a compact body as Python writes it: spaces behind colons and commas,
// nothing but ASCII.
func python(body string) string {
	return rewrite(body, func(r rune, inside bool) string {
		if !inside && (r == ',' || r == ':') {
			return string(r) + " "
		}
		return string(r)
	})
}

// php is a compact body as PHP writes it: escaped slashes, nothing but ASCII.
func php(body string) string {
	return rewrite(body, func(r rune, _ bool) string {
		if r == '/' {
			return `\/`
		}
		return string(r)
	})
}

// ascii is a compact body with all that is not ASCII escaped.
func ascii(body string) string {
	return rewrite(body, func(r rune, _ bool) string { return string(r) })
}

// rewrite writes compact JSON again, in ASCII. write gets each ASCII character and
// whether it is inside a string. The strings must have no quotes.
func rewrite(body string, write func(r rune, inside bool) string) string {
	var b strings.Builder
	inside := false
	for _, r := range body {
		switch {
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		case r > 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			inside = inside != (r == '"')
			b.WriteString(write(r, inside))
		}
	}
	return b.String()
}
