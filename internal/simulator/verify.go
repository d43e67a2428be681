package simulator

import (
	"context"
	"encoding/base64"
	"strings"

	"claviger/internal/courier"
	"claviger/internal/fault"
)

// Pasted is a webhook as a person pastes it. Nothing of it is stored or logged.
type Pasted struct {
	Body     string
	Base64   bool   // the body is written in base64
	Headers  string // see courier.ParseHeaders
	At       string // when it was received; see courier.ParseMoment. "": not known
	Computed string // the signature that their code computed; "": not known
	Secret   string // the secret that their code uses; "": not known
}

// maxLine is how many bytes a pasted signature, secret or time may have.
const maxLine = 500

// Verify says whether a pasted webhook of a partner is ours, and which part is wrong if
// it does not verify.
func (s *Simulator) Verify(ctx context.Context, partnerID int64, p Pasted) (courier.Verification, error) {
	r, err := p.received()
	if err != nil {
		return courier.Verification{}, err
	}
	known, err := s.Partners.Get(ctx, partnerID)
	if err != nil {
		return courier.Verification{}, err
	}
	secrets, err := s.Partners.WebhookSecrets(ctx, partnerID)
	if err != nil {
		return courier.Verification{}, err
	}
	if id := courier.EventIDOf(r.Header); id > 0 {
		if r.Sent, err = s.sent(ctx, partnerID, id); err != nil {
			return courier.Verification{}, err
		}
	}
	return courier.Signer{Brand: known.Brand}.Verify(r, courier.NewSecrets(secrets...)), nil
}

// received reads what was pasted.
func (p Pasted) received() (courier.Received, error) {
	r := courier.Received{Header: courier.ParseHeaders(p.Headers), Body: []byte(p.Body), Computed: strings.TrimSpace(p.Computed), Secret: p.Secret}
	for name, text := range map[string]string{"headers": p.Headers, "body": p.Body} {
		if len(text) > courier.MaxPasted {
			return r, fault.Field(name, "must have at most %d bytes; ours are much shorter.", courier.MaxPasted)
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
		if r.At, ok = courier.ParseMoment(p.At); !ok {
			return r, fault.Field("received_at", "must be a time such as 2026-11-15T09:30:00Z, or a number of seconds or milliseconds.")
		}
	}
	return r, nil
}
