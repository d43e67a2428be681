package license

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/fault"
	"claviger/internal/paging"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Import is a license that was sold elsewhere, with its current state. A deactivated one is put on
// hold by the operator, so that only the operator can make it work again.
type Import struct {
	Key       string // in the form of a UUID, lower case
	PartnerID int64
	Tier      int
	Status    event.Status
	Email     string // of its owner; "": the first user to redeem it becomes the owner
	SoldAt    time.Time
}

// ImportOptions are the options of an import.
type ImportOptions struct {
	DryRun   bool // nothing is stored
	Webhooks bool // each event is delivered to the partner

	// Earlier has the licenses that a dry run would have stored before, by key, to recognize
	// repeated lines. The run adds the licenses that it would store.
	Earlier map[string]Import
}

// ImportResult is the result of an Import.
type ImportResult struct {
	New bool  // it was stored; false without an error: the same line was imported before
	Err error // the reason for a refusal
}

// content distinguishes a repeated line from another one for the same license.
func (i Import) content() string {
	sum := sha256.Sum256(
		fmt.Appendf(nil, "%d %d %d %q %d", i.PartnerID, i.Tier, i.Status, i.Email, i.SoldAt.UnixNano()),
	)
	return "import " + hex.EncodeToString(sum[:])
}

// errDryRun rolls back a dry run.
var errDryRun = errors.New("nothing is stored in a dry run")

// Import imports licenses. Those of one partner are one transaction, with a purchase and one event
// for each, whose reason is event.Operator. It sends no emails. Repeating it changes nothing. The
// error concerns the licenses without a result.
func (r *Store) Import(ctx context.Context, by audit.Actor, list []Import, o ImportOptions) ([]ImportResult, error) {
	ctx = sqldb.InJob(ctx)
	results := make([]ImportResult, len(list))
	var partners []int64
	of := map[int64][]int{}
	for i, line := range list {
		if of[line.PartnerID] == nil {
			partners = append(partners, line.PartnerID)
		}
		of[line.PartnerID] = append(of[line.PartnerID], i)
	}
	for _, id := range partners {
		err := r.DB.Write(ctx, func(tx *sqldb.Tx) error {
			s := &importSet{list: list, results: results, webhooks: o.Webhooks, earlier: o.Earlier}
			err := s.run(ctx, r, tx, by, id, of[id])
			if err == nil && o.DryRun {
				err = errDryRun
			}
			return err
		})
		if err != nil && !errors.Is(err, errDryRun) {
			return results, fmt.Errorf("import licenses of partner %d: %w", id, err)
		}
		for _, i := range of[id] {
			if o.DryRun && o.Earlier != nil && results[i].New {
				o.Earlier[list[i].Key] = list[i]
			}
		}
	}
	return results, nil
}

// importSet imports licenses of one partner.
type importSet struct {
	*partnerTx
	list     []Import
	results  []ImportResult
	webhooks bool
	earlier  map[string]Import
	fresh    []int // indexes of the licenses to store
}

func (s *importSet) run(
	ctx context.Context,
	r *Store,
	tx *sqldb.Tx,
	by audit.Actor,
	partnerID int64,
	at []int,
) error {
	keys := make([]string, len(at))
	for n, i := range at {
		keys[n] = s.list[i].Key
		s.results[i] = ImportResult{} // the transaction may run again
	}
	tx.PlanOnce()
	pending := queueTx(tx, partnerID, len(at))
	known := queueImported(tx, keys)
	var err error
	if s.partnerTx, err = r.partnerTx(ctx, tx, by, pending); fault.Of(err) != nil {
		for _, i := range at {
			s.results[i].Err = err
		}
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.check(ctx, known, at); err != nil || len(s.fresh) == 0 {
		return err
	}
	return s.store(ctx)
}

// imported is an existing license.
type imported struct {
	key, content string
	partnerID    int64
	tier         int
}

// queueImported queues the query for the licenses with these keys, of any partner.
func queueImported(tx *sqldb.Tx, keys []string) *sqldb.Result[imported] {
	return sqldb.QueueQuery(tx, func(r *sqldb.Row, v *imported) error {
		return r.Scan(&v.key, &v.partnerID, &v.tier, &v.content)
	}, `SELECT l.license_key, l.partner_id, l.tier, p.content FROM licenses AS l
		JOIN purchase_links AS k ON k.license_id = l.id AND k.seq = 1 JOIN purchases AS p ON p.id = k.purchase_id
		WHERE l.license_key = ANY($1)`, keys)
}

// check decides which licenses are new, and refuses the others.
func (s *importSet) check(ctx context.Context, known *sqldb.Result[imported], at []int) error {
	list, err := known.All(ctx)
	if err != nil {
		return fmt.Errorf("look for licenses: %w", err)
	}
	there := make(map[string]imported, len(list)+len(at))
	for _, v := range list {
		there[v.key] = v
	}
	s.fresh = s.fresh[:0]
	for _, i := range at {
		line := s.list[i]
		result := &s.results[i]
		was, found := there[line.Key]
		if e, would := s.earlier[line.Key]; would && !found {
			was = imported{e.Key, e.content(), e.PartnerID, e.Tier}
			found = true
		}
		switch {
		case found && was.content == line.content():
		case found:
			result.Err = errImported(was)
		case line.Status == event.Active && line.Email == "":
			result.Err = fault.Field(
				"email",
				"is missing: an active license has an owner. Name the owner, or make the license inactive.",
			)
		default:
			if result.Err = s.requirePlan(line.Tier); result.Err == nil {
				s.fresh = append(s.fresh, i)
				there[line.Key] = imported{line.Key, line.content(), line.PartnerID, line.Tier}
			}
		}
	}
	return nil
}

func errImported(was imported) error {
	return fault.New(
		fault.Conflict,
		codeLicenseExists,
		"There is a license with this key already, of partner %d and tier %d, and it stays as it is. Remove the "+
			"line, or change that license by the API.",
		was.partnerID,
		was.tier,
	).On("license_key")
}

// store writes the new licenses.
func (s *importSet) store(ctx context.Context) error {
	saleIDs := sqldb.NextIDs(s.tx, "purchase_ids", len(s.fresh))
	licenseIDs := sqldb.NextIDs(s.tx, "license_ids", len(s.fresh))
	owners, err := s.owners(ctx)
	if err != nil {
		return err
	}
	sales, err := saleIDs.All(ctx)
	if err != nil {
		return fmt.Errorf("allocate purchase ids: %w", err)
	}
	licenses, err := licenseIDs.All(ctx)
	if err != nil {
		return fmt.Errorf("allocate license ids: %w", err)
	}
	made := make([]License, 0, len(s.fresh))
	purchases := make([]Sale, 0, len(s.fresh))
	var drafts []event.Draft
	for n, i := range s.fresh {
		if owners[n].Err != nil {
			s.results[i].Err = owners[n].Err
			continue
		}
		line := s.list[i]
		s.counters.Licenses++
		l := License{
			ID: licenses[n], PartnerID: line.PartnerID, Ord: s.counters.Licenses, Key: line.Key,
			RedemptionID: secret.UUID(),
			Status:       line.Status, Tier: line.Tier, OwnerID: owners[n].User.ID,
			Redeemed:  line.Status == event.Active,
			CreatedAt: s.now, UpdatedAt: s.now, eventAt: event.Millis(s.now),
		}
		if line.Status == event.Deactivated {
			l.Held = HoldOther
		}
		made = append(made, l)
		purchases = append(purchases, Sale{
			ID: sales[n], PartnerID: line.PartnerID, Kind: NewLicense, Tier: line.Tier, Quantity: 1, UserID: l.OwnerID,
			CreatedAt: s.now, SoldAt: line.SoldAt, content: line.content(),
		})
		drafts = append(drafts, s.draft(&state{License: l, was: License{Tier: l.Tier}}, event.Operator))
		s.results[i].New = true
	}
	if len(made) > 0 {
		s.save(made, purchases, drafts)
	}
	return nil
}

// owners finds or makes the users that the lines name.
func (s *importSet) owners(ctx context.Context) ([]account.Found, error) {
	var persons []account.Person
	for _, i := range s.fresh {
		if s.list[i].Email != "" {
			persons = append(persons, account.Person{Email: s.list[i].Email})
		}
	}
	found, err := account.QueueFinder(s.tx, persons...).Find(ctx, s.now, persons...)
	if err != nil {
		return nil, err
	}
	owners := make([]account.Found, len(s.fresh))
	for n, i := range s.fresh {
		if s.list[i].Email != "" {
			owners[n] = found[0]
			found = found[1:]
		}
	}
	return owners, nil
}

// save queues the rows of all new licenses.
func (s *importSet) save(made []License, purchases []Sale, drafts []event.Draft) {
	insertSales(s.tx, purchases...)
	insertLicenses(s.tx, made)
	links := make([][]any, len(made))
	holds := [][]any{}
	type place struct {
		status event.Status
		block  int64
	}
	blocks := map[place]int64{}
	statuses := map[event.Status]int64{}
	for i, l := range made {
		links[i] = newLink(1, purchases[i], 0).row(l.ID)
		if l.Held != 0 {
			holds = append(holds, []any{l.ID, string(ByOperator), int(l.Held), s.now})
		}
		blocks[place{l.Status, paging.BlockOf(l.Ord)}]++
		statuses[l.Status]++
	}
	s.tx.Copy("purchase_links", linkColumns, links)
	s.tx.Copy("license_holds", []string{"license_id", "cause", "reason", "created_at"}, holds)
	for at, n := range blocks {
		s.count(at.status, at.block, n)
	}
	if s.webhooks {
		s.log.Append(s.tx, drafts...)
	} else {
		s.log.AppendUndelivered(s.tx, drafts...)
	}
	s.counters.Save(s.tx)
	facts := audit.Facts{
		"licenses": len(made),
		"first":    made[0].Key,
		"last":     made[len(made)-1].Key,
		"webhooks": s.webhooks,
	}
	for status, n := range statuses {
		facts[status.String()] = n
	}
	audit.Record(
		s.tx, s.now, s.by, "license.import", "partner:"+strconv.FormatInt(s.counters.PartnerID, 10), nil,
		facts,
	)
}
