package diagnose

import (
	"context"
	"slices"

	"claviger/internal/courier"
)

// RefusesSignature reports whether an answer looks like that to a wrong signature.
func RefusesSignature(a courier.Answer) bool {
	switch a.Status {
	case 400, 401, 403, 422:
		return true
	}
	return a.Status >= 200 && a.Status <= 299 && courier.Success(a.Body) == courier.SaysNo
}

func refusesSignature(posts []*Result) bool {
	return !slices.ContainsFunc(posts, func(r *Result) bool { return !RefusesSignature(r.Reply) })
}

// FindMistake looks for the common mistake of an endpoint that refuses right signatures. try posts
// an event with the mistake; it reports whether the post was accepted, and whether the search may
// continue. It returns advice, or "" if no mistake explains the refusals.
func (r *Runner) FindMistake(try func(Mistake) (accepted, more bool)) string {
	for _, m := range Mistakes(r.Target.Secrets) {
		accepted, more := try(m)
		switch {
		case accepted:
			return WithBrand(r.Signer(), m.Likely)
		case !more:
			return ""
		}
	}
	return ""
}

// find finds the mistake after every post was refused. A partner that cannot have the secret yet
// makes no mistake.
func (t *trial) find(ctx context.Context) {
	refused := slices.Clone(t.results)
	if !t.Target.NewSecrets {
		found := t.misnamed(ctx, refused[0].Reply)
		if found == "" && ctx.Err() == nil {
			found = t.FindMistake(func(m Mistake) (accepted, more bool) {
				r := t.try(ctx, "signed "+m.Signed, m.Change)
				if r.Delivered {
					r.Text = "it was accepted, and must not be"
					r.Do = []string{WithBrand(t.Signer(), m.Likely)}
				}
				return r.Delivered, ctx.Err() == nil
			})
		}
		if found != "" {
			prependLikely(refused, found)
			return
		}
	}
	prependLikely(refused, t.suspicions(refused[0].Reply)...)
}

// suspicions lists possible causes of a refusal that no common mistake explains.
func (t *trial) suspicions(a courier.Answer) []string {
	list := Unmet(t.Signer(), a)
	if t.Target.NewSecrets {
		list = append(
			list,
			"The partner cannot know its webhook secret yet: it is made with the partner. Create the partner "+
				"without validate, hand the secret over, then change the URL with validate.",
		)
	}
	if IsPage(a) {
		list = append(
			list,
			"The answer is a web page and not that of an API: a firewall, a login or CSRF protection may be in "+
				"front of your handler. Let posts to this URL through; the signature protects it.",
		)
	}
	const accepts = `it must accept license keys and members that it does not know, ` +
		`and answer "test": true as any other.`
	secret := []string{
		"Is it the right secret? It is the webhook secret as it was shown, whsec_ included; neither the API key, " +
			"unless the marketplace set a single key, nor the client secret.",
		"Compare the text that your code signs with the one shown here, byte by byte: the timestamp of " +
			t.Signer().TimestampHeader() + " and at once the raw body.",
		"Does your code find the header " + t.Signer().SignatureHeader() + "? Node.js has the names in lower case; " +
			"PHP writes them as HTTP_, in capitals, with _ for -.",
	}
	if a.Status > 299 {
		return append(append(list, secret...), "Or your handler refuses the event itself: "+accepts)
	}
	// A refusal with a 2xx status comes from the program itself, and may have another reason than
	// the signature.
	return append(append(
		list,
		"Your program refuses every post: look at what it refuses, and why; its answer or its log may say. Or it "+
			"does not have the right secret.",
		"Look at how it handles the event: "+accepts,
	), secret...)
}

// prependLikely puts findings before the suggestions from the answer alone.
func prependLikely(posts []*Result, likely ...string) {
	for _, r := range posts {
		rest := slices.DeleteFunc(slices.Clone(r.Do), func(s string) bool { return slices.Contains(likely, s) })
		r.Do = append(slices.Clone(likely), rest...)
	}
}
