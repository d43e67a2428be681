package profile

import (
	"context"
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	"claviger/internal/courier"
)

// naming is a set of headers in which a server may look for a signature.
type naming struct {
	stem     string // what the names begin with
	standard bool   // they hold what webhook-id, -timestamp and -signature hold
}

// signature is the name of the header with the signature.
func (n naming) signature() string {
	if n.standard {
		return n.stem + "signature"
	}
	return n.stem + "Signature"
}

// add puts the right signatures of a post under these names as well.
func (n naming) add(header map[string][]string, own courier.Signer) {
	from := map[string]string{own.TimestampHeader(): "Timestamp", own.SignatureHeader(): "Signature"}
	if n.standard {
		from = map[string]string{courier.HeaderID: "id", courier.HeaderTimestamp: "timestamp", courier.HeaderSignature: "signature"}
	}
	for name, end := range from {
		header[n.stem+end] = header[name]
	}
}

// namings are the names that servers are known to read instead of ours, and those
// that an answer mentions.
func (t *trial) namings(a courier.Answer) []naming {
	list := []naming{{stem: "X-Licensing-"}, {stem: "X-Webhook-"}, {stem: "X-"}, {stem: "svix-", standard: true}}
	if t.marketBrand != "" {
		list = slices.Insert(list, 0, naming{stem: "X-" + t.marketBrand + "-"})
	}
	if name := strings.ToLower(t.signer.Foreign(a.Body)); name != "" {
		stem, _, _ := strings.Cut(name, "signature")
		stem, _, _ = strings.Cut(stem, "timestamp")
		list = slices.Insert(list, 0, naming{stem: textproto.CanonicalMIMEHeaderKey(stem)})
	}
	return slices.DeleteFunc(list, func(n naming) bool {
		name := n.signature()
		return strings.EqualFold(name, t.signer.SignatureHeader()) || strings.EqualFold(name, courier.HeaderSignature)
	})
}

// misnamed finds out whether a server that refuses every post looks for the
// signature in another header. One post has it under all names at once; only if
// that is accepted, they are tried one by one.
func (t *trial) misnamed(ctx context.Context, a courier.Answer) (posts []*result, found string) {
	all := t.namings(a)
	try := func(step string, some ...naming) bool {
		r := t.try(ctx, "POST "+webhookField+": purchase "+step+", to find the mistake", acts[0], func(f *courier.Forgery) {
			f.Add = func(header map[string][]string) {
				for _, n := range some {
					n.add(header, t.signer)
				}
			}
		})
		accepted := r.OK
		if r.OK, r.Warning, r.Likely = false, true, nil; accepted {
			r.Text = "it was accepted"
		}
		posts = append(posts, r)
		return accepted
	}
	if !try("with its signatures under other names too", all...) {
		return posts, ""
	}
	read := "another header"
	for _, n := range all {
		if try("with its signature in "+n.signature()+" too", n) {
			read = "the header " + n.signature()
			break
		}
	}
	found = fmt.Sprintf("Your server looks for the signature in %s. It is in %s, with the time in %s; or read %s.",
		read, t.signer.SignatureHeader(), t.signer.TimestampHeader(), courier.HeaderSignature)
	last := posts[len(posts)-1]
	last.Likely = []string{found}
	return posts, found
}
