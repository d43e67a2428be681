package simulator

import (
	"context"
	"encoding/base64"
	"strings"

	"claviger/internal/courier"
	"claviger/internal/diagnose/verify"
	"claviger/internal/fault"
)

// Pasted is a webhook as pasted by a person. None of it is stored or logged.
type Pasted struct {
	Body     string
	Base64   bool   // the body is base64
	Headers  string // see verify.ParseHeaders
	At       string // time of receipt; see verify.ParseMoment. "": unknown
	Computed string // signature computed by their code; "": unknown
	Secret   string // secret used by their code; "": unknown
}

// maxLine is the maximum size in bytes of a pasted signature, secret or time.
const maxLine = 500

// Verify reports whether a pasted webhook of a partner is ours, and which part is wrong if it does
// not verify.
func (s *Simulator) Verify(ctx context.Context, partnerID int64, p Pasted) (verify.Result, error) {
	r, err := p.received()
	if err != nil {
		return verify.Result{}, err
	}
	known, err := s.Partners.Get(ctx, partnerID)
	if err != nil {
		return verify.Result{}, err
	}
	secrets, err := s.Partners.WebhookSecrets(ctx, partnerID)
	if err != nil {
		return verify.Result{}, err
	}
	if id := verify.EventIDOf(r.Header); id > 0 {
		if r.Sent, err = s.sent(ctx, partnerID, id); err != nil {
			return verify.Result{}, err
		}
	}
	return verify.Webhook(courier.Signer{Brand: known.Brand}, r, courier.NewSecrets(secrets...)), nil
}

// received parses the pasted data.
func (p Pasted) received() (verify.Received, error) {
	r := verify.Received{
		Header:   verify.ParseHeaders(p.Headers),
		Body:     []byte(p.Body),
		Computed: strings.TrimSpace(p.Computed),
		Secret:   p.Secret,
	}
	for name, text := range map[string]string{"headers": p.Headers, "body": p.Body} {
		if len(text) > verify.MaxPasted {
			return r, fault.Field(name, "must have at most %d bytes; ours are much shorter.", verify.MaxPasted)
		}
	}
	for name, text := range map[string]string{"received_at": p.At, "computed": p.Computed, "secret": p.Secret} {
		if len(text) > maxLine {
			return r, fault.Field(name, "must have at most %d bytes.", maxLine)
		}
	}
	if strings.TrimSpace(p.Headers) == "" {
		return r, fault.Field("headers", "must have the headers of the request, one per line.")
	}
	if p.Base64 {
		var err error
		if r.Body, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(p.Body), "")); err != nil {
			return r, fault.Field("body", "is not base64; paste the text itself, or encode the bytes.")
		}
	}
	if strings.TrimSpace(p.At) != "" {
		var ok bool
		if r.At, ok = verify.ParseMoment(p.At); !ok {
			return r, fault.Field(
				"received_at",
				"must be a time such as 2026-11-15T09:30:00Z, or a number of seconds or milliseconds.",
			)
		}
	}
	return r, nil
}
