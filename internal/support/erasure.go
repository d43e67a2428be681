package support

import (
	"context"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/license"
	"claviger/internal/partner"
	"claviger/internal/profile"
)

// maxOfPerson bounds the count of a person's emails and memberships.
const maxOfPerson = 1000

// Erasure is the data that the erasure of a person deletes.
type Erasure struct {
	User     account.User
	Licenses []license.Effect // effect on each license
	Teams    []partner.Access // partners that the person leaves
	Contacts int64            // entries among partners' contacts
	Mails    int              // recorded, sent or waiting; at most 1000 are counted
}

// PreviewErase returns the effect of erasing a user, with the code that does it.
func (d *Store) PreviewErase(ctx context.Context, by audit.Actor, userID int64) (Erasure, error) {
	var e Erasure
	var err error
	if e.User, err = d.Accounts.Get(ctx, userID); err != nil {
		return Erasure{}, err
	}
	if !e.User.ErasedAt.IsZero() {
		return Erasure{}, fault.New(
			fault.Conflict,
			account.CodeUserErased,
			"This person was erased before; there is nothing left to erase.",
		)
	}
	e.Licenses, err = d.Licenses.Preview(func(r *license.Store) error {
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
	e.Mails, err = account.ErasedMails(ctx, d.DB, e.User, maxOfPerson)
	return e, err
}
