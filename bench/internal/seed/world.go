package seed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

const (
	// WorldPartners is the number of partners of a World.
	WorldPartners = 300
	// WorldMembers is the number of members of the first partner.
	WorldMembers = 16
)

// World is a database with everything that pages show: 300 partners, the first with seven tenths of
// the licenses, their buyers with purchases and emails, each event with its delivery and attempts,
// some of them failed, and audit entries and refused requests.
type World struct {
	URL      string
	Members  []account.User // of the first partner
	Licenses int64          // of all partners
	Events   int64
	End      time.Time // when the last event was
	Failing  int64     // an event of the first partner with failed attempts
}

// World returns such a database with this many licenses, a multiple of 10,000, seeded now or by an
// earlier run.
func (s Store) World(ctx context.Context, licenses int64, say func(string, ...any)) (World, error) {
	name := fmt.Sprintf("world_%d", licenses)
	at := s.at(name)
	stale, err := s.stale(ctx, name, licenses)
	if err != nil {
		return World{}, err
	}
	if stale {
		say("seeding %d partners, %d licenses and %d events with deliveries and attempts into %s",
			WorldPartners, licenses, licenses*EventsPerLicense, s.Name())
		if _, err := s.Empty(ctx, name); err != nil {
			return World{}, err
		}
		if err := FillWorld(ctx, at, licenses, say); err != nil {
			return World{}, errors.Join(err, s.Drop(ctx, name))
		}
	}
	return LookAtWorld(ctx, at)
}

// LookAtWorld describes the content of a seeded database.
func LookAtWorld(ctx context.Context, at string) (World, error) {
	db, err := sqldb.Open(ctx, at, sqldb.Options{})
	if err != nil {
		return World{}, err
	}
	w := World{URL: at}
	err = db.Read(ctx, func(tx *sqldb.Tx) error {
		var err error
		if w.Licenses, err = sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT CAST(sum(licenses) AS bigint)
			FROM partner_counters`); err != nil {
			return err
		}
		if w.Events, err = sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT CAST(sum(events) AS bigint)
			FROM partner_counters`); err != nil {
			return err
		}
		if w.End, err = sqldb.One(ctx, tx, sqldb.Value[time.Time], `SELECT max(clock)
			FROM partner_counters`); err != nil {
			return err
		}
		w.Failing, err = sqldb.One(ctx, tx, sqldb.Value[int64], `SELECT max(event_id) FROM outbox
			WHERE partner_id = 1 AND state = 1 AND attempts > 0`)
		return err
	})
	if err == nil {
		w.Members, err = membersOf(ctx, db, 1)
	}
	return w, errors.Join(err, db.Close())
}

func membersOf(ctx context.Context, db *sqldb.DB, partnerID int64) (users []account.User, err error) {
	list, err := (&partner.Store{DB: db, Now: app.Now}).Members(ctx, partnerID)
	for _, m := range list {
		if err == nil {
			var u account.User
			u, err = (&account.Store{DB: db, Now: app.Now}).Get(ctx, m.UserID)
			users = append(users, u)
		}
	}
	return users, err
}

// FillWorld fills an empty, migrated database.
func FillWorld(ctx context.Context, url string, licenses int64, say func(string, ...any)) error {
	db, err := sqldb.Open(ctx, url, sqldb.Options{})
	if err != nil {
		return err
	}
	postgres := IsPostgres(url)
	ids, err := Partners(ctx, db, WorldPartners)
	if err == nil && ids[WorldPartners-1] != WorldPartners {
		err = fmt.Errorf("the last partner is %d, not %d", ids[WorldPartners-1], WorldPartners)
	}
	for _, step := range newWorld(licenses, postgres) {
		if err != nil {
			break
		}
		say("  %s", step.what)
		err = db.Write(ctx, func(tx *sqldb.Tx) error {
			return errors.Join(prepare(ctx, tx, postgres), step.do(ctx, tx))
		})
		if err != nil {
			err = fmt.Errorf("seed %s: %w", step.what, err)
		}
	}
	if err == nil {
		_, err = Join(ctx, db, 1)
	}
	if err == nil {
		err = Vacuum(ctx, db, url)
	}
	return errors.Join(err, db.Close())
}

// Join creates 16 people who are admins of each of the partners.
func Join(ctx context.Context, db *sqldb.DB, partnerIDs ...int64) ([]account.User, error) {
	accounts, partners := &account.Store{DB: db, Now: app.Now}, &partner.Store{DB: db, Now: app.Now}
	var users []account.User
	for i := range WorldMembers {
		u, _, err := accounts.Create(ctx, actor, account.Person{
			Email: fmt.Sprintf("member-%d@example.com", i+1), Name: fmt.Sprintf("Member %d", i+1),
		})
		if err != nil {
			return nil, err
		}
		for _, id := range partnerIDs {
			if _, err := partners.AddMember(ctx, actor, id, u.ID, partner.Admin); err != nil {
				return nil, err
			}
		}
		if u, err = accounts.Get(ctx, u.ID); err != nil { // each membership ended the sessions before it
			return nil, err
		}
		users = append(users, u)
	}
	return users, nil
}
