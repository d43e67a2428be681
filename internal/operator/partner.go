package operator

import (
	"net/http"
	"time"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/wire"
)

// partnerJSON is a partner on the wire.
type partnerJSON struct {
	ID                   int64     `json:"id"`
	Name                 string    `json:"name"`
	Brand                string    `json:"brand"`
	Strict               bool      `json:"strict"`
	SingleKey            bool      `json:"single_key"`
	WebhookConcurrency   int       `json:"webhook_concurrency"`
	ClientID             string    `json:"client_id"`
	WebhookURL           string    `json:"webhook_url"`
	WebhookURLValidated  bool      `json:"webhook_url_validated"`
	RedirectURL          string    `json:"redirect_url"`
	RedirectURLValidated bool      `json:"redirect_url_validated"`
	InitiateLoginURI     string    `json:"initiate_login_uri"`
	IDTokenAlg           string    `json:"id_token_alg"`
	ErrorMember          bool      `json:"error_member"`
	ExternalID           string    `json:"external_id"`
	PausedAt             mayTime   `json:"paused_at"`
	PauseReason          string    `json:"pause_reason"`
	CreatedAt            wire.Time `json:"created_at"`
	UpdatedAt            wire.Time `json:"updated_at"`
}

// partnerOf combines a partner and its URLs; updated_at is the later of the two changes.
func partnerOf(p partner.Partner, f profile.Profile) partnerJSON {
	updated := p.UpdatedAt
	if f.UpdatedAt.After(updated) {
		updated = f.UpdatedAt
	}
	return partnerJSON{
		ID: p.ID, Name: p.Name, Brand: p.Brand, Strict: p.Strict, SingleKey: p.SingleKey,
		WebhookConcurrency: p.Webhooks, ClientID: p.ClientID,
		WebhookURL: f.WebhookURL, WebhookURLValidated: !f.WebhookValidAt.IsZero(),
		RedirectURL: f.RedirectURL, RedirectURLValidated: !f.RedirectValidAt.IsZero(),
		InitiateLoginURI: f.InitiateLoginURI, IDTokenAlg: f.IDTokenAlg, ErrorMember: !f.NoErrorMember,
		ExternalID: p.ExternalID, PausedAt: mayTime(p.PausedAt), PauseReason: p.PauseReason,
		CreatedAt: wire.Time(p.CreatedAt), UpdatedAt: wire.Time(updated),
	}
}

// createdJSON is a partner with its secrets, which are shown only once.
type createdJSON struct {
	partnerJSON
	ClientSecret  string `json:"client_secret"`
	APIKey        string `json:"api_key"`
	WebhookSecret string `json:"webhook_secret"`
}

// connectionBody is the connection of a partner; missing members stay unchanged.
type connectionBody struct {
	InitiateLoginURI *string `json:"initiate_login_uri"`
	IDTokenAlg       *string `json:"id_token_alg"`
	ErrorMember      *bool   `json:"error_member"`
}

func (b connectionBody) connection() profile.Connection {
	return profile.NewConnection(b.InitiateLoginURI, b.IDTokenAlg, b.ErrorMember)
}

// partnerBody creates a partner.
type partnerBody struct {
	Name        string `json:"name"`
	Brand       string `json:"brand"`
	Strict      bool   `json:"strict"`
	SingleKey   bool   `json:"single_key"`
	Concurrency int    `json:"webhook_concurrency"`
	WebhookURL  string `json:"webhook_url"`
	RedirectURL string `json:"redirect_url"`
	Validate    bool   `json:"validate"`
	ExternalID  string `json:"external_id"`
	connectionBody
}

// enrolment converts the body for the domain.
func (b partnerBody) enrolment() (profile.Enrolment, error) {
	externalID, err := text("external_id", b.ExternalID)
	return profile.Enrolment{
		Draft: partner.Draft{
			Name:       b.Name,
			Brand:      b.Brand,
			Strict:     b.Strict,
			SingleKey:  b.SingleKey,
			Webhooks:   b.Concurrency,
			ExternalID: externalID,
		},
		URLs:     profile.URLs{Webhook: b.WebhookURL, Redirect: b.RedirectURL, Connection: b.connection()},
		Validate: b.Validate,
	}, err
}

// createPartner answers with the secrets of the new partner only once. A repeat gets the partner
// without them, because the stored outcome contains no secret.
func (o *Operator) createPartner(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b partnerBody
	raw, err := decode(w, r, &b)
	if err != nil {
		return err
	}
	e, err := b.enrolment()
	if err != nil {
		return err
	}
	if e.Idempotency, err = idempotencyOf(r, t, raw); err != nil {
		return err
	}
	if err := mustRepeat(e.Idempotency, e.Draft.ExternalID); err != nil {
		return err
	}
	made, err := o.Profiles.EnrolOnce(r.Context(), actor(t), e)
	if err != nil {
		return err
	}
	if made.Repeated {
		return wire.JSON(w, http.StatusOK, partnerOf(made.Partner, made.Profile))
	}
	c := made.Credentials
	return wire.JSON(
		w,
		http.StatusCreated,
		createdJSON{partnerOf(made.Partner, made.Profile), c.ClientSecret, c.APIKey, c.WebhookSecret},
	)
}

// pauseBody is the reason of a pause.
type pauseBody struct {
	Reason string `json:"reason"`
}

func (o *Operator) pausePartner(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b pauseBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	p, f, err := o.Profiles.Pause(r.Context(), actor(t), pathID(r), b.Reason)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, partnerOf(p, f))
}

func (o *Operator) resumePartner(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if err := noMembers(w, r); err != nil {
		return err
	}
	p, f, err := o.Profiles.Resume(r.Context(), actor(t), pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, partnerOf(p, f))
}

func (o *Operator) deletePartner(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if err := o.Profiles.Remove(r.Context(), actor(t), pathID(r)); err != nil {
		return err
	}
	return wire.NoContent(w)
}

// maxListed is the limit of the count of each partner's waiting events in the list.
const maxListed = 1000

func (o *Operator) listPartners(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "page", "limit", "order")
	if err != nil {
		return err
	}
	p, err := paging.Parse(q)
	if err != nil {
		return err
	}
	list, total, err := o.Partners.List(r.Context(), p)
	if err != nil {
		return err
	}
	profiles, err := o.Profiles.Of(r.Context(), list)
	if err != nil {
		return err
	}
	ids := make([]int64, len(list))
	for i, one := range list {
		ids[i] = one.ID
	}
	health, err := o.Webhooks.EndpointsHealth(r.Context(), ids, maxListed)
	if err != nil {
		return err
	}
	items := make([]partnerDetailJSON, len(list))
	for i, one := range list {
		f := profiles[one.ID]
		items[i] = partnerDetailJSON{partnerOf(one, f), endpointOf(one, f, health[one.ID])}
	}
	wire.PageHeaders(w, r, p, total, false)
	return wire.JSON(w, http.StatusOK, wire.List(items))
}

func (o *Operator) getPartner(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	p, err := o.Partners.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	f, _, err := o.Profiles.Get(r.Context(), p.ID)
	if err != nil {
		return err
	}
	h, err := o.Webhooks.EndpointHealth(r.Context(), p.ID)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, partnerDetailJSON{partnerOf(p, f), endpointOf(p, f, h)})
}

// aboutPartner returns a handler for the partner in the path.
func (o *Operator) aboutPartner(
	answer func(w http.ResponseWriter, r *http.Request, partnerID int64) error,
) wire.Handler[account.Token] {
	return func(w http.ResponseWriter, r *http.Request, _ account.Token) error {
		p, err := o.Partners.Get(r.Context(), pathID(r))
		if err != nil {
			return err
		}
		return answer(w, r, p.ID)
	}
}

// partnerChange changes a partner; missing members stay unchanged.
type partnerChange struct {
	Name        *string `json:"name"`
	Brand       *string `json:"brand"`
	Strict      *bool   `json:"strict"`
	SingleKey   *bool   `json:"single_key"`
	Concurrency *int    `json:"webhook_concurrency"`
	OverlapS    *int64  `json:"overlap_s"`
	WebhookURL  *string `json:"webhook_url"`
	RedirectURL *string `json:"redirect_url"`
	Validate    bool    `json:"validate"`
	connectionBody
}

func (o *Operator) changePartner(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b partnerChange
	if err := decodeChange(w, r, &b, partnerDetailJSON{}); err != nil {
		return err
	}
	overlap, err := b.overlap()
	if err != nil {
		return err
	}
	change := partner.Change{
		Name:      b.Name,
		Brand:     b.Brand,
		Strict:    b.Strict,
		SingleKey: b.SingleKey,
		Webhooks:  b.Concurrency,
		Overlap:   overlap,
	}
	urls := profile.URLChange{Webhook: b.WebhookURL, Redirect: b.RedirectURL, Connection: b.connection()}
	p, f, issued, err := o.Profiles.Amend(r.Context(), actor(t), pathID(r), change, urls, b.Validate)
	if err != nil {
		return err
	}
	answer := changedJSON{partnerJSON: partnerOf(p, f), APIKey: issued.APIKey, WebhookSecret: issued.WebhookSecret}
	if issued.APIKey != "" {
		answer.PreviousValidUntil = new(wire.Time(issued.PreviousUntil))
	}
	return wire.JSON(w, http.StatusOK, answer)
}

// changedJSON is a partner, with the new secrets after a change of single_key, which are shown only
// once.
type changedJSON struct {
	partnerJSON
	APIKey             string     `json:"api_key,omitempty"`
	WebhookSecret      string     `json:"webhook_secret,omitempty"`
	PreviousValidUntil *wire.Time `json:"previous_valid_until,omitempty"`
}

// defaultOverlap is the default time for which secrets still work after a change of single_key: it
// must not break a partner who does not know of it yet.
const defaultOverlap = 24 * time.Hour

// overlap returns the time for which replaced secrets still work.
func (b partnerChange) overlap() (time.Duration, error) {
	switch {
	case b.OverlapS == nil:
		return defaultOverlap, nil
	case b.SingleKey == nil:
		return 0, fault.Field(
			"overlap_s",
			"goes with single_key, whose change replaces secrets; to replace one alone, call rotate.",
		)
	}
	return seconds(*b.OverlapS), nil
}

// seconds converts seconds to an overlap. A number too large for a duration is also too large for
// an overlap.
func seconds(n int64) time.Duration {
	return time.Duration(min(max(n, -1), int64(partner.MaxOverlap/time.Second)+1)) * time.Second
}

// rotationBody asks for a new secret.
type rotationBody struct {
	What     partner.Secret `json:"what"`
	OverlapS int64          `json:"overlap_s"`
}

// rotationJSON is a new secret on the wire, shown only once.
type rotationJSON struct {
	What               partner.Secret `json:"what"`
	Secret             string         `json:"secret"`
	PreviousValidUntil wire.Time      `json:"previous_valid_until"`
}

func (o *Operator) rotate(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b rotationBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	overlap := seconds(b.OverlapS)
	done, err := o.Partners.Rotate(r.Context(), actor(t), pathID(r), b.What, overlap)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, rotationJSON{done.What, done.Value, wire.Time(done.PreviousUntil)})
}

// switchBody names the secret with the overlap to end.
type switchBody struct {
	What partner.Secret `json:"what"`
}

func (o *Operator) switchSecret(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b switchBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	if err := o.Partners.Switch(r.Context(), actor(t), pathID(r), b.What); err != nil {
		return err
	}
	return wire.NoContent(w)
}
