package diagnose

import (
	"context"
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	"claviger/internal/courier"
)

// naming is a set of headers that a server may read a signature from.
type naming struct {
	stem     string // prefix of the names
	standard bool   // they have the values of webhook-id, -timestamp and -signature
}

// signature returns the name of the header with the signature.
func (n naming) signature() string {
	if n.standard {
		return n.stem + "signature"
	}
	return n.stem + "Signature"
}

// add also puts the right signatures of a post under these names.
func (n naming) add(header map[string][]string, own courier.Signer) {
	from := map[string]string{own.TimestampHeader(): "Timestamp", own.SignatureHeader(): "Signature"}
	if n.standard {
		from = map[string]string{
			courier.HeaderID: "id", courier.HeaderTimestamp: "timestamp", courier.HeaderSignature: "signature",
		}
	}
	for name, end := range from {
		header[n.stem+end] = header[name]
	}
}

// namings returns the names that servers are known to read instead of ours, and those that an
// answer mentions.
func (t *trial) namings(a courier.Answer) []naming {
	list := []naming{{stem: "X-Licensing-"}, {stem: "X-Webhook-"}, {stem: "X-"}, {stem: "svix-", standard: true}}
	if t.Target.MarketBrand != "" {
		list = slices.Insert(list, 0, naming{stem: "X-" + t.Target.MarketBrand + "-"})
	}
	if name := strings.ToLower(Foreign(t.Signer(), a.Body)); name != "" {
		stem, _, _ := strings.Cut(name, "signature")
		stem, _, _ = strings.Cut(stem, "timestamp")
		list = slices.Insert(list, 0, naming{stem: textproto.CanonicalMIMEHeaderKey(stem)})
	}
	return slices.DeleteFunc(list, func(n naming) bool {
		name := n.signature()
		return strings.EqualFold(name, t.Signer().SignatureHeader()) || strings.EqualFold(name, courier.HeaderSignature)
	})
}

// misnamed checks whether a server that refuses every post reads the signature from another header.
// One post has it under all names; only if that is accepted, they are tried one by one.
func (t *trial) misnamed(ctx context.Context, a courier.Answer) (found string) {
	all := t.namings(a)
	signer := t.Signer()
	try := func(title string, some ...naming) *Result {
		r := t.try(ctx, title, func(f *Forgery) {
			f.Add = func(header map[string][]string) {
				for _, n := range some {
					n.add(header, signer)
				}
			}
		})
		if r.Delivered {
			r.Text = "it was accepted"
		}
		return r
	}
	last := try("with its signatures under other names too", all...)
	if !last.Delivered {
		return ""
	}
	read := "another header"
	for _, n := range all {
		last = try("with its signature in "+n.signature()+" too", n)
		if last.Delivered {
			read = "the header " + n.signature()
			break
		}
	}
	found = fmt.Sprintf("Your server looks for the signature in %s. It is in %s, with the time in %s; or read %s.",
		read, signer.SignatureHeader(), signer.TimestampHeader(), courier.HeaderSignature)
	last.Do = []string{found}
	return found
}
