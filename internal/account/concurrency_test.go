package account_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// TestFindAtOnce names the same person 50 times concurrently, in several ways.
func TestFindAtOnce(t *testing.T) {
	for name, person := range map[string]func(i int) account.Person{
		"by address":     func(int) account.Person { return account.Person{Email: "ann@example.com"} },
		"by external id": func(int) account.Person { return account.Person{ExternalID: "u-1"} },
		"by both":        func(int) account.Person { return account.Person{Email: "ann@example.com", ExternalID: "u-1"} },
		"letter case": func(i int) account.Person {
			return account.Person{Email: []string{"ann@example.com", "ANN@example.com", "Ann@Example.Com"}[i%3]}
		},
		"external id on some": func(i int) account.Person {
			return account.Person{Email: "ann@example.com", ExternalID: []string{"", "u-1"}[i%2]}
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			var lock sync.Mutex
			ids := map[int64]int{}
			var wg sync.WaitGroup
			for i := range 50 {
				wg.Go(func() {
					var u account.User
					err := d.DB.Write(t.Context(), func(tx *sqldb.Tx) (err error) {
						u, err = account.Find(t.Context(), tx, person(i), noon)
						return err
					})
					if err != nil {
						t.Error(err)
					}
					lock.Lock()
					defer lock.Unlock()
					ids[u.ID]++
				})
			}
			wg.Wait()
			users, _, err := d.List(t.Context(), account.Filter{}, paging.First())
			if err != nil || len(users) != 1 || len(ids) != 1 {
				t.Errorf("%d users, ids %v, %v; want one user", len(users), ids, err)
			}
		})
	}
}

// TestFindBesideErase names a person during the erasure of the user. Each user found is not erased
// when the transaction commits.
func TestFindBesideErase(t *testing.T) {
	d := open(t)
	ann := account.Person{Email: "ann@example.com"}
	u := d.create(t, ann)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			err := d.DB.Write(t.Context(), func(tx *sqldb.Tx) error {
				if i == 10 {
					_, _, err := account.Erase(t.Context(), tx, operator, u.ID, noon)
					return err
				}
				found, err := account.Find(t.Context(), tx, ann, noon)
				if err != nil {
					return err
				}
				erased, err := sqldb.One(t.Context(), tx, sqldb.Value[bool], `SELECT erased_at <> 0 FROM users WHERE id = $1`, found.ID)
				if erased {
					t.Errorf("user %d was erased while it was being used", found.ID)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, err := d.Get(t.Context(), u.ID); got.ErasedAt.IsZero() || err != nil {
		t.Errorf("the user was not erased: %+v, %v", got, err)
	}
}

// TestFindTakenAtOnce gives one address to two users concurrently. One of them gets it, and there
// is no internal error.
func TestFindTakenAtOnce(t *testing.T) {
	d := open(t)
	for _, id := range []string{"u-1", "u-2"} {
		d.create(t, account.Person{ExternalID: id})
	}
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			p := account.Person{Email: "shared@example.com", ExternalID: []string{"u-1", "u-2"}[i%2]}
			if _, _, err := d.Create(t.Context(), operator, p); err != nil && !fault.Is(err, "user_conflict") {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	users, _, err := d.List(t.Context(), account.Filter{Email: "shared@example.com"}, paging.First())
	if err != nil || len(users) != 1 {
		t.Errorf("%d users have the address, %v; want one", len(users), err)
	}
}

// TestUseLinkAtOnce uses one link 50 times concurrently.
func TestUseLinkAtOnce(t *testing.T) {
	d := open(t)
	u := d.create(t, account.Person{Email: "ann@example.com"})
	url, _, err := d.Link(t.Context(), operator, u.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	var lock sync.Mutex
	var in, used int
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, err := d.UseLink(t.Context(), token(t, url), "", "")
			lock.Lock()
			defer lock.Unlock()
			switch {
			case err == nil:
				in++
			case fault.Is(err, "link_used"):
				used++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if in != 1 || used != 49 {
		t.Errorf("%d got in and %d were told that the link was used, want 1 and 49", in, used)
	}
}

// TestUseLinksAtOnce uses several links of one user concurrently: the first ends the others.
func TestUseLinksAtOnce(t *testing.T) {
	d := open(t)
	d.create(t, account.Person{Email: "ann@example.com"})
	var links []string
	for range 5 {
		links = append(links, d.ask(t, account.ForReset, "ann@example.com"))
	}
	var in atomic.Int64
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			_, err := d.UseLink(t.Context(), links[i%len(links)], "", "")
			switch {
			case err == nil:
				in.Add(1)
			case !fault.Is(err, "link_used") && !fault.Is(err, "link_expired"):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if in.Load() != 1 {
		t.Errorf("%d got in, want 1", in.Load())
	}
}
