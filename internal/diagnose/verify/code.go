package verify

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/secret"
)

// secret reports whether the secret is the right one: the one that the code uses, or else the one
// that signed.
func (c *check) secret(by string) Finding {
	if c.Secret != "" {
		return c.usedSecret(by)
	}
	switch by {
	case "current":
		return right(PartSecret, "your current webhook secret signed it; use the same in your code")
	case "old":
		return right(PartSecret, "your old webhook secret signed it, which is valid until its overlap ends")
	}
	return unclear(
		PartSecret, "we cannot tell which secret your code uses",
		"Give the signature that your code computes, or the secret that it uses; neither is stored.",
	)
}

// usedSecret compares the secret of the code with the valid ones.
func (c *check) usedSecret(by string) Finding {
	const do = "Use the webhook secret as it was shown, whsec_ included; make a new one if you do not have it."
	plain := strings.Trim(strings.TrimSpace(c.Secret), `"'`)
	switch {
	case secret.Equal(c.Secret, c.secrets.Current) && by == "old":
		return wrong(PartSecret,
			"your code has the new secret, and this was signed with the old one: "+
				c.signer.SignatureHeader()+" is, until the overlap ends",
			"Verify with both until the overlap ends, or check "+courier.HeaderSignature+", which has a signature "+
				"of each.")
	case secret.Equal(c.Secret, c.secrets.Current):
		return right(PartSecret, "your code has the current webhook secret")
	case c.secrets.Previous != "" && secret.Equal(c.Secret, c.secrets.Previous):
		return right(PartSecret, "your code has the old webhook secret, which is valid until its overlap ends")
	case plain != c.Secret && (secret.Equal(plain, c.secrets.Current) || secret.Equal(plain, c.secrets.Previous)):
		return wrong(
			PartSecret, "white space, a line break or quotes stand around the secret that your code uses",
			"Remove them: look at how the variable is set.",
		)
	case secret.Equal("whsec_"+plain, c.secrets.Current) || secret.Equal("whsec_"+plain, c.secrets.Previous):
		return wrong(PartSecret, "whsec_ is missing from the secret that your code uses", do)
	case secret.Mistaken(plain, secret.WebhookSecret) != "":
		return wrong(
			PartSecret, "the secret that your code uses is of another kind",
			secret.Mistaken(plain, secret.WebhookSecret),
		)
	}
	return wrong(PartSecret, "the secret that your code uses is none of yours that is valid", do)
}

// clock reports whether the post was received close to the time of its signature.
func (c *check) clock() Finding {
	sent, ok := c.stamp()
	if !ok || c.At.IsZero() {
		return unclear(
			PartClock, "the time of the post or of its receipt is not known",
			"Give the time at which your server received it.",
		)
	}
	off := c.At.Sub(sent)
	if off.Abs() <= ClockTolerance {
		return right(PartClock, "it was received "+about(off)+" it was signed")
	}
	do := "Set your clock by NTP. If the clock is right, somebody sends an old post again: each of our attempts is " +
		"signed anew."
	if rest := off.Abs() % (30 * time.Minute); off.Abs() < 15*time.Hour &&
		(rest < 2*time.Minute || rest > 28*time.Minute) {
		do = "That is close to a time zone: compare the timestamp, which is UTC, with your clock in UTC, not with " +
			"local time."
	}
	return wrong(
		PartClock,
		fmt.Sprintf("it was received %s it was signed, and at most %s is accepted", about(off), ClockTolerance), do,
	)
}

// about formats a time span in words.
func about(off time.Duration) string {
	words := off.Abs().Round(time.Second).String()
	if off.Abs() >= 48*time.Hour {
		words = fmt.Sprintf("%d days", int(off.Abs().Hours()/24))
	}
	if off < 0 {
		return words + " before"
	}
	return words + " after"
}

// computed compares the signature computed by the code with the right one, and with those of common
// mistakes.
func (c *check) computed() Finding {
	raw, form := decoded(c.Computed)
	if raw == nil {
		return wrong(
			PartCode, "what your code computed is no HMAC-SHA256: that has 64 hex digits, or 44 characters of base64",
			"Look at how your code writes it.",
		)
	}
	f := c.forgery()
	equal := func(f *diagnose.Forgery) bool {
		return hmac.Equal(raw, diagnose.MAC(f.BrandKey, f.BrandText)) || hmac.Equal(raw, diagnose.MAC(f.Key, f.Text))
	}
	brand := hmac.Equal(raw, diagnose.MAC(f.BrandKey, f.BrandText))
	std := hmac.Equal(raw, diagnose.MAC(f.Key, f.Text))
	switch {
	case brand && form == "hex" || std && form == "base64":
		return right(
			PartCode,
			"your code computes the right signature; look at how it compares: as text, with the header of the same "+
				"form, without v1,",
		)
	case brand || std:
		return wrong(
			PartCode, "your code computes the right signature and writes it in the wrong way",
			diagnose.WithBrand(c.signer, "X-<Brand>-Signature is lower-case hex, webhook-signature is v1, and base64."),
		)
	}
	if c.Secret != "" {
		other := c.forgery()
		other.BrandKey, other.Key = []byte(c.Secret), courier.StandardKey(c.Secret)
		if equal(other) {
			return wrong(
				PartCode, "your code signs the right text, with another secret than ours",
				"Use the webhook secret of this application.",
			)
		}
	}
	for _, m := range append(diagnose.Mistakes(c.secrets), pasted...) {
		try := c.forgery()
		if m.Change(try); equal(try) {
			return wrong(PartCode, "it is the signature of a usual mistake", diagnose.WithBrand(c.signer, m.Likely))
		}
	}
	return wrong(
		PartCode, "it is neither the right signature nor that of a usual mistake",
		"Compare the text that your code signs with the one shown here, byte by byte; if they are the same, your "+
			"code has another secret.",
	)
}

// forgery signs the received data as we do.
func (c *check) forgery() *diagnose.Forgery {
	f := diagnose.NewForgery(0, time.Time{}, c.secrets, c.Body)
	f.ID = c.id
	f.Milliseconds = c.brandTime
	f.Seconds = c.seconds
	f.Over(f.Body)
	return f
}

// pasted contains mistakes that show in a computed signature and that the check of a URL does not
// try.
var pasted = []diagnose.Mistake{
	{
		Likely: "Your code signs a line break at the end, as echo adds one. Use printf '%s', or leave the line " +
			"break out.",
		Change: func(f *diagnose.Forgery) {
			f.BrandText += "\n"
			f.Text += "\n"
		},
	},
	{
		Likely: "Your code has a line break at the end of its secret, as a file that is read whole does. Remove it.",
		Change: func(f *diagnose.Forgery) {
			f.BrandKey, f.Key = append(f.BrandKey, '\n'), append([]byte(f.Secrets.Current), '\n')
		},
	},
	{
		Likely: "Your code signs the body before the timestamp. X-<Brand>-Signature has the timestamp first.",
		Change: func(f *diagnose.Forgery) {
			f.BrandText = f.Body + f.Milliseconds
			f.Text = f.Body + f.Seconds
		},
	},
	{
		Likely: "Your code signs lines that end in CR LF. Sign the bytes as they came.",
		Change: func(f *diagnose.Forgery) { f.Over(strings.ReplaceAll(f.Body, "\n", "\r\n")) },
	},
	{
		Likely: "Your code signs with an empty secret: the variable is not set where it runs.",
		Change: func(f *diagnose.Forgery) {
			f.BrandKey = nil
			f.Key = nil
		},
	},
}

// decoded parses a signature in either form.
func decoded(text string) (raw []byte, form string) {
	text = strings.TrimPrefix(bareSignature(text), "v1,")
	if raw, err := hex.DecodeString(strings.ToLower(text)); err == nil && len(raw) == 32 {
		return raw, "hex"
	}
	if raw, err := base64.StdEncoding.DecodeString(text); err == nil && len(raw) == 32 {
		return raw, "base64"
	}
	return nil, ""
}

// bareSignature strips common decorations from a signature.
func bareSignature(text string) string {
	return strings.TrimPrefix(strings.Trim(text, "\"' \t\r\n"), "sha256=")
}
