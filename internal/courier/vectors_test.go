package courier_test

import (
	"flag"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/courier"
)

var update = flag.Bool("update", false, "write the test vectors into docs/webhooks.md")

const (
	webhooksPage = "../../docs/webhooks.md"
	beginVectors = "<!-- vectors -->\n"
	endVectors   = "<!-- end of vectors -->\n"
)

// vector is a published example: an attempt to deliver an event.
type vector struct {
	name     string
	event    courier.Event
	attempt  int
	at       int64 // milliseconds
	brand    string
	current  string
	previous string
}

const (
	oldSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwZ2tJ4cD1xY8="
	newSecret    = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD/qW9eRtYuIo="
	singleSecret = "lk_0f9d8c7b6a5f4e3d2c1b0a9f8e7d6c5b4a3f2e1d0c9b8a7f6e5d4c3b2a1f0e9d"
)

func vectors() []vector {
	event := func(kind, status, reason, sentence string) courier.Event {
		return courier.Event{
			LicenseKey: "5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11", Kind: kind, Status: status, At: time.UnixMilli(1772625600123), EventID: 42,
			Tier: 1, Reason: reason, Sentence: sentence, CreatedAt: time.UnixMilli(1772625600123),
			PlanName: "Starter",
		}
	}
	purchase := event("purchase", "inactive", "purchased", "The license was purchased.")
	change := event("activate", "active", "plan_changed", "The buyer changed the plan.")
	change.EventID, change.Tier, change.PreviousTier, change.At, change.CreatedAt = 43, 3, 1, time.UnixMilli(1772629200001), time.UnixMilli(1772629200001)
	change.PlanName = "Business"
	refund := event("deactivate", "deactivated", "refunded", "A purchase of the license was refunded.")
	odd := event("purchase", "inactive", "purchased", "Fish & <chips> / “crème brûlée” 東京 😀 \"quoted\" back\\slash\ttab\nline.")
	long := event("deactivate", "deactivated", "held", strings.Repeat("A long sentence & ein langer Satz für die Prüfung / 長い文. ", 24))
	test := event("purchase", "inactive", "purchased", "This is a test of your webhook URL.")
	odd.PlanName = "Größe <L> & “más” 東"
	test.LicenseKey, test.Test, test.PlanName = "00000000-0000-4000-8000-000000000000", true, "Test plan"
	return []vector{
		{"a purchase", purchase, 1, 1772625600456, "", oldSecret, ""},
		{"the same at the third attempt: other timestamps and signatures, the same body", purchase, 3, 1772625635789, "", oldSecret, ""},
		{"another tier, and a brand of its own", change, 1, 1772629200003, "Acme-Store", oldSecret, ""},
		{"characters that must not be escaped, and those that must", odd, 1, 1772625600456, "", oldSecret, ""},
		{"a long body", long, 1, 1772625600456, "", oldSecret, ""},
		{"during a rotation: webhook-signature by both, the new first; the other by the old", refund, 1, 1772625600456, "", newSecret, oldSecret},
		{"after it was replaced", refund, 2, 1772712000000, "", newSecret, ""},
		{"single key: the API key signs, by its bytes as shown", purchase, 1, 1772625600456, "", singleSecret, ""},
		{"a test post", test, 1, 1772625600456, "", oldSecret, ""},
	}
}

// block returns a vector as published.
func (v vector) block() string {
	var b strings.Builder
	b.WriteString("Vector " + v.name + ":\n\n```text\nsecret: " + v.current + "\n")
	secrets := courier.NewSecrets(v.current)
	if v.previous != "" {
		secrets = courier.NewSecrets(v.current, v.previous)
		b.WriteString("previous secret: " + v.previous + "\n")
	}
	body := courier.Body(v.event)
	h := courier.Signer{Brand: v.brand}.Headers(v.event.EventID, v.attempt, time.UnixMilli(v.at), secrets, body)
	b.WriteString(courier.HeaderText(h, "webhook-id", "webhook-timestamp", "webhook-signature"))
	b.WriteString("\n\n" + string(body) + "\n```\n\n")
	return b.String()
}

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(webhooksPage)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPublishedVectors: the vectors in the documentation match the code. `go test
// ./internal/courier -update` writes them.
func TestPublishedVectors(t *testing.T) {
	text := page(t)
	before, rest, _ := strings.Cut(text, beginVectors)
	got, after, ok := strings.Cut(rest, endVectors)
	if !ok {
		t.Fatal("docs/webhooks.md has no place for the vectors")
	}
	var want strings.Builder
	for i, v := range vectors() {
		want.WriteString(strings.Replace(v.block(), "Vector ", "Vector "+strconv.Itoa(i+1)+", ", 1))
	}
	if *update {
		if err := os.WriteFile(webhooksPage, []byte(before+beginVectors+want.String()+endVectors+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("docs/webhooks.md (-code +page):\n%s", diff)
	}
}

// published is a vector as parsed from the page.
type published struct {
	current, previous string
	header            http.Header
	body              []byte
}

// readVectors reads the page's vectors, independently of the code that wrote them.
func readVectors(t *testing.T) []published {
	t.Helper()
	var all []published
	for _, block := range blocks(t, "text") {
		head, body, ok := strings.Cut(block, "\n\n")
		if !ok {
			t.Fatalf("a vector without a body: %s", block)
		}
		p := published{header: make(http.Header), body: []byte(body)}
		for line := range strings.SplitSeq(head, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "secret":
				p.current = value
			case "previous secret":
				p.previous = value
			default:
				p.header.Add(name, value)
			}
		}
		all = append(all, p)
	}
	return all
}

// blocks returns the page's code blocks in a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	var all []string
	rest := page(t)
	for {
		_, after, ok := strings.Cut(rest, "\n```"+language+"\n")
		if !ok {
			return all
		}
		var block string
		if block, rest, ok = strings.Cut(after, "\n```\n"); !ok {
			t.Fatalf("docs/webhooks.md: a block of %s has no end", language)
		}
		all = append(all, block)
	}
}

// brandHeaders returns the values of a vector's branded headers, for any brand.
func (p published) brandHeaders(t *testing.T) (timestamp, signature string) {
	t.Helper()
	for name := range p.header {
		switch {
		case strings.HasPrefix(name, "X-") && strings.HasSuffix(name, "-Timestamp"):
			timestamp = p.header.Get(name)
		case strings.HasPrefix(name, "X-") && strings.HasSuffix(name, "-Signature"):
			signature = p.header.Get(name)
		}
	}
	if timestamp == "" || signature == "" {
		t.Errorf("a vector without the brand's headers: %v", p.header)
	}
	return timestamp, signature
}

// TestVectorsAreRight checks the vectors with the library of Standard Webhooks and with the
// documentation's own code.
func TestVectorsAreRight(t *testing.T) {
	all := readVectors(t)
	if len(all) != len(vectors()) {
		t.Fatalf("the page has %d vectors, want %d", len(all), len(vectors()))
	}
	for i, p := range all {
		brand := p.current
		if err := library(t, p.current).VerifyIgnoringTimestamp(p.body, p.header); err != nil {
			t.Errorf("vector %d: %v", i+1, err)
		}
		if p.previous != "" {
			brand = p.previous
			if err := library(t, p.previous).VerifyIgnoringTimestamp(p.body, p.header); err != nil {
				t.Errorf("vector %d by the previous secret: %v", i+1, err)
			}
		}
		timestamp, signature := p.brandHeaders(t)
		ms, err := strconv.ParseInt(timestamp, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if !verify(brand, timestamp, signature, p.body, time.UnixMilli(ms)) {
			t.Errorf("vector %d: the brand's signature does not verify", i+1)
		}
	}
}
