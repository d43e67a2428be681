package operator

import (
	"net/http"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/wire"
)

// userJSON is a user on the wire.
type userJSON struct {
	ID         int64     `json:"id"`
	Email      string    `json:"email"`
	Name       string    `json:"name"`
	ExternalID string    `json:"external_id"`
	GuestEmail string    `json:"guest_email"`
	MergedInto int64     `json:"merged_into"`
	CreatedAt  wire.Time `json:"created_at"`
	UpdatedAt  wire.Time `json:"updated_at"`
	ErasedAt   mayTime   `json:"erased_at"`
}

func userOf(u account.User) userJSON {
	return userJSON{
		ID: u.ID, Email: u.Email, Name: u.Name, ExternalID: u.ExternalID,
		GuestEmail: u.GuestEmail, MergedInto: u.MergedInto,
		CreatedAt: wire.Time(u.CreatedAt), UpdatedAt: wire.Time(u.UpdatedAt), ErasedAt: mayTime(u.ErasedAt),
	}
}

// personBody is a person as named by a shop.
type personBody struct {
	Email      string `json:"email"`
	Name       string `json:"name"`
	ExternalID string `json:"external_id"`
}

func (b personBody) person() account.Person {
	return account.Person{Email: b.Email, Name: b.Name, ExternalID: b.ExternalID}
}

// buyer returns the person as the member user of another body: errors name user.email and the like.
func (b personBody) buyer() (*account.Person, error) {
	p := b.person()
	err := p.Valid()
	if f := fault.Of(err); f != nil {
		err = fault.New(f.Kind, f.Code, "user.%s", f.Text).On("user." + f.Field)
	}
	return &p, err
}

// userRoutes returns the routes of users.
func (o *Operator) userRoutes(
	on func(account.Scope, string, string, wire.Handler[account.Token]) wire.Route,
	list func(string, wire.Handler[account.Token]) wire.Route,
) []wire.Route {
	return []wire.Route{
		on(account.Admin, "POST", "/users", o.createUser),
		list("/users", o.listUsers),
		on(account.Read, "GET", "/users/{id}", o.getUser),
		on(account.Admin, "PATCH", "/users/{id}", o.updateUser),
		on(account.Admin, "POST", "/users/{id}/merge", o.mergeUser),
		on(account.Admin, "DELETE", "/users/{id}", o.eraseUser),
		on(account.Support, "POST", "/users/{id}/session", o.makeLink),
	}
}

func (o *Operator) createUser(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b personBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	u, created, err := o.Accounts.Create(r.Context(), actor(t), b.person())
	if err != nil {
		return err
	}
	return wire.JSON(w, createdOr(created), userOf(u))
}

func (o *Operator) listUsers(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	q, err := wire.Query(r, "email", "external_id", "page", "limit", "order")
	if err != nil {
		return err
	}
	p, err := paging.Parse(q)
	if err != nil {
		return err
	}
	list, more, err := o.Accounts.List(
		r.Context(),
		account.Filter{Email: q.Get("email"), ExternalID: q.Get("external_id")},
		p,
	)
	if err != nil {
		return err
	}
	wire.PageHeaders(w, r, p, -1, more)
	return wire.JSON(w, http.StatusOK, wire.ListOf(list, userOf))
}

func (o *Operator) getUser(w http.ResponseWriter, r *http.Request, _ account.Token) error {
	u, err := o.Accounts.Get(r.Context(), pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, userOf(u))
}

// userChange is a change of a user.
type userChange struct {
	Email string `json:"email"`
}

func (o *Operator) updateUser(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b userChange
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	if _, err := o.Accounts.Get(r.Context(), pathID(r)); err != nil {
		return err
	}
	u, err := o.Accounts.SetEmail(r.Context(), actor(t), pathID(r), b.Email)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, userOf(u))
}

// userMerge names the user who takes over everything of another one.
type userMerge struct {
	Into int64 `json:"into"`
}

func (o *Operator) mergeUser(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b userMerge
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	if _, err := o.Accounts.Get(r.Context(), pathID(r)); err != nil {
		return err
	}
	if b.Into <= 0 {
		return fault.Field("into", "must be the number of the person who takes over everything.")
	}
	u, err := o.Merges.People(r.Context(), actor(t), pathID(r), b.Into)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, userOf(u))
}

func (o *Operator) eraseUser(w http.ResponseWriter, r *http.Request, t account.Token) error {
	u, err := o.Licenses.EraseUser(r.Context(), actor(t), pathID(r))
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusOK, userOf(u))
}

// linkJSON is a sign-in link on the wire.
type linkJSON struct {
	URL       string    `json:"url"`
	ExpiresAt wire.Time `json:"expires_at"`
}

// linkBody is the target of a sign-in link; "" is the default page.
type linkBody struct {
	Next string `json:"next"`
}

func (o *Operator) makeLink(w http.ResponseWriter, r *http.Request, t account.Token) error {
	var b linkBody
	if _, err := decode(w, r, &b); err != nil {
		return err
	}
	url, expires, err := o.Accounts.Link(r.Context(), actor(t), pathID(r), b.Next)
	if err != nil {
		return err
	}
	return wire.JSON(w, http.StatusCreated, linkJSON{url, wire.Time(expires)})
}

// served returns the user of the path. A token without the scope admin may only see buyers: the
// sessions of operators and members of partners are for admins.
func (o *Operator) served(r *http.Request, t account.Token) (account.User, error) {
	u, err := o.Accounts.Get(r.Context(), pathID(r))
	if err != nil || t.May(account.Admin) {
		return u, err
	}
	if u.Operator() {
		return u, fault.New(
			fault.Forbidden,
			account.CodeOperatorAccount,
			"This user is an operator. To see or end the sessions of an operator you need a token with the scope "+
				"admin.",
		)
	}
	serves, err := o.Partners.Serves(r.Context(), u.ID)
	if err == nil && serves {
		err = fault.New(
			fault.Forbidden,
			account.CodeMemberAccount,
			"This user is a member of a partner. To see or end the sessions of a member you need a token with the "+
				"scope admin.",
		)
	}
	return u, err
}

// userData answers with all data about a user as a file, for a request of that user.
func (o *Operator) userData(w http.ResponseWriter, r *http.Request, t account.Token) error {
	return o.Data.FileFor(w, r, actor(t), pathID(r))
}
