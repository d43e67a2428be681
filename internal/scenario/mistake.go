package scenario

import (
	"context"

	"claviger/internal/diagnose"
)

// advise adds the reason why an endpoint refuses right signatures. The mistake is looked for once per
// run, and applies to every refused step.
func (p *play) advise(ctx context.Context, result *diagnose.Result, s step, e *envelope) {
	silent := false
	if !p.diagnosed {
		p.diagnosed = true
		p.mistake = p.FindMistake(func(m diagnose.Mistake) (accepted, more bool) {
			var r diagnose.Result
			s.forge = m.Change
			e.attempts++
			p.post(ctx, &r, s, e)
			silent = r.Answer == ""
			return r.Delivered, !silent
		})
		p.doubt = p.mistake == "" && !silent
	}
	switch {
	case p.mistake != "":
		result.Do = []string{p.mistake}
	case p.doubt:
		result.Do = append(result.Do, diagnose.WithBrand(p.Signer(), doSecret))
	}
}

// refusesAll reports whether the endpoint seems to consider our signatures wrong: nothing was
// delivered yet, and it refuses as is usual for that.
func (p *play) refusesAll(s step, r diagnose.Result) bool {
	plain := s.raw == nil && s.forge == nil && s.age == 0
	return plain && !p.delivered && r.Answer != "" && diagnose.RefusesSignature(r.Reply)
}
