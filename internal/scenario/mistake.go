package scenario

import (
	"context"

	"claviger/internal/courier"
)

// diagnose finds out why an endpoint refuses what is signed rightly: it makes the common
// mistakes with the same event, one after another, until such a post is accepted. It
// does so once in a run, and what it found is said of every step that is refused.
func (p *play) diagnose(ctx context.Context, s step, e *envelope) {
	p.diagnosed = true
	for _, m := range courier.Mistakes(p.Target.Secrets) {
		s.forge = m.Change
		e.attempts++
		r := p.post(ctx, s, e)
		if r.err != nil {
			return
		}
		if ok, _ := courier.Delivered(r.answer.Status, r.answer.Body, p.Target.Strict); ok {
			p.mistake = p.signer.WithBrand(m.Likely)
			return
		}
	}
	p.doubt = p.signer.WithBrand(doSecret)
}

// refusesAll reports whether a result is that of an endpoint that takes our signatures
// for wrong: nothing was delivered yet, and it refuses as one does a wrong signature.
func (p *play) refusesAll(s step, r reply) bool {
	if p.delivered || s.raw != nil || r.err != nil || s.forge != nil || s.header != nil || s.age != 0 {
		return false
	}
	status := r.answer.Status
	return refusesSignature(status) || status >= 200 && status < 300 && courier.Success(r.answer.Body) == courier.SaysNo
}
