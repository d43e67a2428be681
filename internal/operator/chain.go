package operator

import (
	"net/http"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/wire"
)

// chainLinkJSON is a purchase in the chain of a license on the wire.
type chainLinkJSON struct {
	Seq        int          `json:"seq"`
	Tier       int          `json:"tier"`
	Purchase   purchaseJSON `json:"purchase"`
	RefundID   int64        `json:"refund_id"`
	Refundable bool         `json:"refundable"`
	Credit     int64        `json:"credit_cents"`
	Stands     bool         `json:"stands"`
}

func chainLinkOf(k license.Link) chainLinkJSON {
	return chainLinkJSON{k.Seq, k.Tier, purchaseOf(k.Sale), k.Refund.ID, k.Refundable, k.Credit, k.Stands}
}

// chainJSON is a license with its chain of purchases and its refunds on the wire.
type chainJSON struct {
	License operatorLicenseJSON          `json:"license"`
	Links   wire.Envelope[chainLinkJSON] `json:"links"`
	Refunds wire.Envelope[refundJSON]    `json:"refunds"`
}

func (o *Operator) chainOf(d license.Detail) chainJSON {
	return chainJSON{
		o.operatorLicenseOf(d.License),
		wire.ListOf(d.Links, chainLinkOf),
		wire.ListOf(d.Refunds, refundOf),
	}
}

func (o *Operator) licensePurchases(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	d, err := o.Licenses.Inspect(r.Context(), r.PathValue("key"))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, o.chainOf(d))
}

// purchaseDetailJSON is a purchase with its licenses as they are now on the wire.
type purchaseDetailJSON struct {
	Purchase purchaseJSON             `json:"purchase"`
	Licenses wire.Envelope[chainJSON] `json:"licenses"`
}

func (o *Operator) getPurchase(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	d, err := o.Licenses.Sale(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, purchaseDetailJSON{purchaseOf(d.Sale), wire.ListOf(d.Items, o.chainOf)})
}

func (o *Operator) getRefund(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	f, err := o.Licenses.RefundByID(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, o.refundedOf(f.Refund))
}

// effectJSON is the effect of an act on a license on the wire. event is "" if the partner is not
// notified.
type effectJSON struct {
	LicenseKey string    `json:"license_key"`
	Before     stateJSON `json:"before"`
	After      stateJSON `json:"after"`
	Event      string    `json:"event"`
	Reason     string    `json:"reason"`
	Refunded   int       `json:"refunded_purchases"`
}

// stateJSON is the state that an act may change on the wire.
type stateJSON struct {
	Status string `json:"status"`
	Tier   int    `json:"tier"`
}

func effectOf(e license.Effect) effectJSON {
	return effectJSON{
		LicenseKey: e.Before.Key, Before: stateJSON{e.Before.Status.String(), e.Before.Tier},
		After: stateJSON{e.After.Status.String(), e.After.Tier},
		Event: e.Event.String(), Reason: string(e.Reason), Refunded: e.Refunded,
	}
}

func (o *Operator) previewRefund(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b refundBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	order, err := b.order()
	if err != nil {
		return err
	}
	effects, err := o.Licenses.Preview(func(dry *license.Store) error {
		_, err := dry.Refund(r.Context(), actor(t), order)
		return err
	})
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, wire.ListOf(effects, effectOf))
}

// erasureJSON is the data that the erasure of a user deletes, on the wire.
type erasureJSON struct {
	User     userJSON                  `json:"user"`
	Licenses wire.Envelope[effectJSON] `json:"licenses"`
	Partners []int64                   `json:"partners_left"`
	Contacts int64                     `json:"contacts"`
	Mails    int                       `json:"mails"`
}

func (o *Operator) previewErase(w http.ResponseWriter, r *http.Request, t account.Token) error {
	e, err := o.Support.PreviewErase(r.Context(), actor(t), pathID(r))
	if err != nil {
		return err
	}
	answer := erasureJSON{
		User:     userOf(e.User),
		Licenses: wire.ListOf(e.Licenses, effectOf),
		Partners: []int64{},
		Contacts: e.Contacts,
		Mails:    e.Mails,
	}
	for _, a := range e.Teams {
		answer.Partners = append(answer.Partners, a.Partner.ID)
	}
	return wire.JSON(w, http.StatusOK, answer)
}
