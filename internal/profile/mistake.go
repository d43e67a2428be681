package profile

import (
	"context"
	"fmt"
	"slices"

	"claviger/internal/courier"
)

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
	for _, m := range courier.Mistakes(t.secrets) {
		if t.newSecrets || ctx.Err() != nil {
			break
		}
		step := fmt.Sprintf("POST %s: purchase signed %s, to find the mistake", webhookField, m.Signed)
		r := t.try(ctx, step, acts[0], m.Change)
		r.Warning, r.Likely = true, nil // It is not this one that is refused.
		posts = append(posts, r)
		if r.OK {
			r.OK, r.Text, r.Likely = false, "it was accepted, and must not be", []string{t.signer.WithBrand(m.Likely)}
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

// prependLikely puts what was found out before what the answer alone suggests.
func prependLikely(posts []*result, likely ...string) {
	for _, r := range posts {
		rest := slices.DeleteFunc(slices.Clone(r.Likely), func(s string) bool { return slices.Contains(likely, s) })
		r.Likely = append(slices.Clone(likely), rest...)
	}
}
