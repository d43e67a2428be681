package support

import (
	"context"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// maxOfPerson bounds what is counted of a person's mails and memberships.
const maxOfPerson = 1000

// Erasure is what goes when a person is erased.
type Erasure struct {
	User     account.User
	Licenses []license.Effect // what becomes of each license
	Teams    []partner.Access // of partners that the person leaves
	Contacts int64            // entries among partners' contacts
	Mails    int              // on record, sent or waiting; no more than 1000 are counted
}

// PreviewErase returns what an erasure of a user would take, by the code that does it.
func (d *Desk) PreviewErase(ctx context.Context, by audit.Actor, userID int64) (Erasure, error) {
	var e Erasure
	var err error
	if e.User, err = d.Accounts.Get(ctx, userID); err != nil {
		return Erasure{}, err
	}
	if !e.User.ErasedAt.IsZero() {
		return Erasure{}, fault.New(fault.Conflict, account.CodeUserErased, "This person was erased before; there is nothing left to erase.")
	}
	e.Licenses, err = d.Licenses.Preview(func(r *license.Registry) error {
		_, err := r.EraseUser(ctx, by, userID)
		return err
	})
	if err != nil {
		return Erasure{}, err
	}
	if e.Teams, err = d.Partners.Accesses(ctx, userID, maxOfPerson); err != nil {
		return Erasure{}, err
	}
	if e.Contacts, err = profile.CountContacts(ctx, d.DB, e.User.Email); err != nil {
		return Erasure{}, err
	}
	mails, err := mail.To(ctx, d.DB, e.User.Email, maxOfPerson)
	e.Mails = len(mails)
	return e, err
}
