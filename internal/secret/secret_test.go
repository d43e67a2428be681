package secret_test

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"
	"time"

	"claviger/internal/secret"
)

func box(t *testing.T, key byte) *secret.Sealer {
	t.Helper()
	b, err := secret.NewSealer(bytes.Repeat([]byte{key}, secret.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestForms(t *testing.T) {
	for name, c := range map[string]struct {
		make func() string
		form string
	}{
		"secret": {func() string { return secret.Make("lk_") }, `^lk_[0-9a-f]{64}$`},
		"uuid":   {secret.UUID, `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
		"time": {
			func() string { return secret.TimeUUID(time.UnixMilli(0x0123456789ab)) },
			`^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		},
		"hash": {func() string { return secret.Hash("x") }, `^[0-9a-f]{64}$`},
	} {
		a, b := c.make(), c.make()
		if !regexp.MustCompile(c.form).MatchString(a) {
			t.Errorf("%s: %q has not the form %s", name, a, c.form)
		}
		if (a == b) != (name == "hash") {
			t.Errorf("%s: %q and then %q", name, a, b)
		}
	}
	raw, found := strings.CutPrefix(secret.MakeWebhook(), "whsec_")
	if key, err := base64.StdEncoding.DecodeString(raw); !found || err != nil || len(key) != 32 {
		t.Errorf("webhook secret %q: %d bytes, %v", raw, len(key), err)
	}
}

func TestSealedOpensOnlyAsItWasSealed(t *testing.T) {
	b := box(t, 1)
	sealed := b.Seal("webhook", "whsec_x")
	if got, err := b.Open("webhook", sealed); err != nil || got != "whsec_x" {
		t.Errorf("got %q, %v", got, err)
	}
	if again := b.Seal("webhook", "whsec_x"); again == sealed {
		t.Error("the same text sealed twice is the same")
	}
	for name, open := range map[string]func() (string, error){
		"another label": func() (string, error) { return b.Open("key", sealed) },
		"another key":   func() (string, error) { return box(t, 2).Open("webhook", sealed) },
		"a changed bit": func() (string, error) { return b.Open("webhook", flip(sealed)) },
		"cut short":     func() (string, error) { return b.Open("webhook", sealed[:8]) },
		"not base64":    func() (string, error) { return b.Open("webhook", "?") },
	} {
		if got, err := open(); err == nil || strings.Contains(err.Error(), "whsec") {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

func TestPepperDependsOnTheKey(t *testing.T) {
	a := box(t, 1).Pepper("s")
	if a != box(t, 1).Pepper("s") || a == box(t, 2).Pepper("s") || a == secret.Hash("s") {
		t.Error("the pepper is not a keyed hash")
	}
	if !secret.Equal(a, box(t, 1).Pepper("s")) || secret.Equal(a, a[1:]) {
		t.Error("Equal does not compare")
	}
}

func TestBoxNeedsAWholeKey(t *testing.T) {
	if _, err := secret.NewSealer(make([]byte, 31)); err == nil {
		t.Error("31 bytes were taken for a key")
	}
}

// flip changes the first character.
func flip(s string) string {
	if s[0] == 'A' {
		return "B" + s[1:]
	}
	return "A" + s[1:]
}
