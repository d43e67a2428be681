package operator

import (
	"context"
	"net/http"
	"net/url"

	"claviger/internal/account"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/paging"
	"claviger/internal/wire"
)

// licenseJSON is a license on the wire as in the specification, and as the partner sees it.
type licenseJSON struct {
	LicenseKey    string    `json:"license_key"`
	RedemptionURL string    `json:"license_redemption_url"`
	ChangePlanURL string    `json:"license_change_plan_url"`
	Status        string    `json:"status"`
	Tier          int       `json:"tier"`
	CreatedAt     wire.Time `json:"created_at"`
	UpdatedAt     wire.Time `json:"updated_at"`
}

func (o *Operator) licenseOf(l license.License) licenseJSON {
	at := o.PublicURL + "/licensing/" + l.RedemptionID
	return licenseJSON{
		LicenseKey: l.Key, RedemptionURL: at + "/redeem/", ChangePlanURL: at + "/change_plan/",
		Status: l.Status.String(), Tier: l.Tier, CreatedAt: wire.Time(l.CreatedAt), UpdatedAt: wire.Time(l.UpdatedAt),
	}
}

// operatorLicenseJSON is a license with the members that only the marketplace sees.
type operatorLicenseJSON struct {
	licenseJSON
	PartnerID int64  `json:"partner_id"`
	OwnerID   int64  `json:"owner_id"`
	Redeemed  bool   `json:"redeemed"`
	Released  bool   `json:"released"`
	Held      string `json:"held"`
}

func (o *Operator) operatorLicenseOf(l license.License) operatorLicenseJSON {
	return operatorLicenseJSON{o.licenseOf(l), l.PartnerID, l.OwnerID, l.Redeemed, l.Released, l.Held.String()}
}

func (o *Operator) searchLicenses(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "license_key", "email", "external_id", "partner_id", "status", "page", "limit", "order")
	if err != nil {
		return err
	}
	p, err := paging.Parse(q)
	if err != nil {
		return err
	}
	search, nobody, err := o.search(r.Context(), q)
	if err != nil {
		return err
	}
	if nobody {
		wire.PageHeaders(w, r, p, -1, false)
		return wire.JSON(w, http.StatusOK, wire.List[operatorLicenseJSON](nil))
	}
	list, err := o.Licenses.Search(r.Context(), search, p)
	if err != nil {
		return err
	}
	wire.PageHeaders(w, r, p, list.Total, list.More)
	return wire.JSON(w, http.StatusOK, wire.ListOf(list.Licenses, o.operatorLicenseOf))
}

// search reads the filters of a search. nobody reports that no user has the email address, so
// nothing can match.
func (o *Operator) search(ctx context.Context, q url.Values) (s license.Search, nobody bool, err error) {
	s.Key, s.ExternalID = q.Get("license_key"), q.Get("external_id")
	if s.PartnerID, err = naturalParam(q, "partner_id", 1); err != nil {
		return s, false, err
	}
	if s.Status, err = event.ParseStatus(q.Get("status")); err != nil || q.Get("email") == "" {
		return s, false, err
	}
	s.Owners, nobody, err = o.people(ctx, q)
	return s, nobody, err
}

func (o *Operator) getLicense(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	l, err := o.Licenses.ByKey(r.Context(), r.PathValue("key"))
	return o.answer(w, l, err)
}

// about returns a handler for the license in the path.
func (o *Operator) about(
	answer func(w http.ResponseWriter, r *http.Request, find func(context.Context) (license.License, error)) error,
) wire.Handler[account.Token] {
	return func(w http.ResponseWriter, r *http.Request, _ account.Token) error {
		return answer(w, r, func(ctx context.Context) (license.License, error) {
			return o.Licenses.ByKey(ctx, r.PathValue("key"))
		})
	}
}

// answer answers with a license or an error.
func (o *Operator) answer(w http.ResponseWriter, l license.License, err error) error {
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, o.operatorLicenseOf(l))
}

// holdBody is the reason of a hold.
type holdBody struct {
	Reason string `json:"reason"`
}

func (o *Operator) hold(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b holdBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	reason, err := license.ParseHold(b.Reason)
	if err != nil {
		return err
	}
	l, err := o.Licenses.Hold(r.Context(), actor(t), r.PathValue("key"), reason)
	return o.answer(w, l, err)
}

func (o *Operator) reinstate(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if err := noMembers(w, r); err != nil {
		return err
	}
	l, err := o.Licenses.Reinstate(r.Context(), actor(t), r.PathValue("key"))
	return o.answer(w, l, err)
}

func (o *Operator) release(w http.ResponseWriter, r *http.Request, t account.Token) error {
	if err := noMembers(w, r); err != nil {
		return err
	}
	l, err := o.Licenses.Release(r.Context(), actor(t), r.PathValue("key"))
	return o.answer(w, l, err)
}

// ownerBody names the owner of a license.
type ownerBody struct {
	User *personBody `json:"user"`
}

// person returns the named person, or nil.
func (b ownerBody) person() (*account.Person, error) {
	if b.User == nil {
		return nil, nil
	}
	return b.User.buyer()
}

func (o *Operator) activate(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b ownerBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	user, err := b.person()
	if err != nil {
		return err
	}
	l, err := o.Licenses.Activate(r.Context(), actor(t), r.PathValue("key"), user)
	return o.answer(w, l, err)
}

func (o *Operator) transfer(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b ownerBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	user, err := b.person()
	if err != nil {
		return err
	}
	if user == nil {
		return fault.Field("user", "is missing; say who is to own the license.")
	}
	l, err := o.Licenses.Transfer(r.Context(), actor(t), r.PathValue("key"), *user)
	return o.answer(w, l, err)
}
