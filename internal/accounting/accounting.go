// Package accounting keeps the ledger up to date with the sales, refunds and disputes of other
// packages: it posts those that nodes of the previous release wrote, and sales from before the ledger;
// it makes shares payable, and divides sales when a partner gets terms. Once a day it checks the ledger of
// every partner. It owns no table.
package accounting

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"claviger/internal/cluster"
	"claviger/internal/ledger"
	"claviger/internal/license"
	"claviger/internal/payment"
	"claviger/internal/refundrequest"
	"claviger/internal/sqldb"
)

// Store changes the ledger.
type Store struct {
	DB       *sqldb.DB
	Now      func() time.Time
	Defaults ledger.Defaults // of partners without terms
	Licenses *license.Store
	Payments *payment.Store
	Log      *slog.Logger
}

// since is the first version with a ledger. Nodes of older versions post nothing.
const since = "1.1.0"

// Limits of one transaction, and of one search.
const (
	salesAtOnce   = 100
	payableAtOnce = 200
)

// lookAgain is the time until the next look at a sale that can't become payable yet.
const lookAgain = 10 * time.Minute

// MakePayable makes the shares of due sales payable, and returns the number of sales that it read.
// Sales wait while a bank reviews the payment, while a license of theirs is on hold, and while a refund
// is requested. One that is refunded here without the money, which is still at the provider, waits, too.
func (s *Store) MakePayable(ctx context.Context) (int, error) {
	due, err := ledger.DueSales(ctx, s.DB, s.Now(), payableAtOnce)
	if err != nil {
		return 0, err
	}
	of := map[int64][]int64{} // purchases by partner
	for _, d := range due {
		of[d.PartnerID] = append(of[d.PartnerID], d.PurchaseID)
	}
	for partnerID, purchases := range of {
		err := s.DB.Write(sqldb.InJob(ctx), func(tx *sqldb.Tx) error {
			return s.makePayable(ctx, tx, partnerID, purchases)
		})
		if err != nil {
			return 0, fmt.Errorf("make sales of partner %d payable: %w", partnerID, err)
		}
	}
	return len(due), nil
}

func (s *Store) makePayable(ctx context.Context, tx *sqldb.Tx, partnerID int64, purchases []int64) error {
	if err := ledger.Lock(ctx, tx, partnerID); err != nil {
		return err
	}
	kept, err := license.KeptOf(ctx, tx, purchases)
	if err != nil {
		return err
	}
	requests, err := refundrequest.OfPurchases(ctx, tx, purchases)
	if err != nil {
		return err
	}
	requested := map[int64]bool{}
	for _, r := range requests {
		for _, id := range r.Purchases() {
			requested[id] = requested[id] || r.State == refundrequest.Requested
		}
	}
	now := s.Now()
	journal := ledger.New(tx, partnerID, now)
	if err := journal.Load(ctx, purchases); err != nil {
		return err
	}
	for _, id := range purchases {
		money, err := journal.Stays(ctx, id)
		if err != nil {
			return err
		}
		if money.Disputed || kept[id].Held || requested[id] || kept[id].Refunded && money.Whole {
			err = journal.Postpone(ctx, id, now.Add(lookAgain))
		} else {
			err = journal.MakePayable(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	return journal.Save()
}

// Divide divides some undivided sales of partners that have terms now. It reports whether there may be
// more.
func (s *Store) Divide(ctx context.Context) (more bool, err error) {
	partners, err := ledger.Divisible(ctx, s.DB, s.Defaults, s.Now())
	if err != nil {
		return false, err
	}
	for _, id := range partners {
		err := s.DB.Write(sqldb.InJob(ctx), func(tx *sqldb.Tx) error {
			if err := ledger.Lock(ctx, tx, id); err != nil {
				return err
			}
			journal, err := ledger.Queue(tx, id, s.Defaults).Open(ctx, s.Now())
			if err != nil {
				return err
			}
			left, err := journal.Divide(ctx)
			if err != nil {
				return err
			}
			more = more || left
			return journal.Save()
		})
		if err != nil {
			return false, fmt.Errorf("divide sales of partner %d: %w", id, err)
		}
	}
	return more, nil
}

// CatchUp posts some of the sales, refunds and disputes that are not posted. It reports whether there
// may be more. It waits until no node of the previous release works.
func (s *Store) CatchUp(ctx context.Context) (more bool, err error) {
	older, err := cluster.Needing(ctx, s.DB, since)
	if err != nil || len(older) > 0 {
		return false, err
	}
	for _, act := range []func(context.Context) (int, error){s.postSales, s.postPayments, s.postRefunds} {
		n, err := act(ctx)
		if err != nil {
			return false, err
		}
		more = more || n > 0
	}
	return more, nil
}

// CaughtUp reports whether CatchUp has nothing left to post, and no node of the previous release works.
func (s *Store) CaughtUp(ctx context.Context, tx *sqldb.Tx) (bool, error) {
	older, err := cluster.Needing(ctx, s.DB, since)
	if err != nil || len(older) > 0 {
		return false, err
	}
	partnerID, err := license.UnpostedPartner(ctx, tx)
	if err != nil || partnerID != 0 {
		return false, err
	}
	checkouts, err := payment.Unposted(ctx, tx)
	if err != nil || len(checkouts) > 0 {
		return false, err
	}
	refunds, err := license.UnpostedRefunds(ctx, tx, 1)
	return len(refunds) == 0, err
}

// postPayments posts refunds and disputes of the provider.
func (s *Store) postPayments(ctx context.Context) (int, error) {
	checkouts, err := payment.Unposted(ctx, s.DB)
	if err != nil {
		return 0, err
	}
	slices.Sort(checkouts)
	checkouts = slices.Compact(checkouts)
	for _, id := range checkouts {
		if err := s.Payments.Post(sqldb.InJob(ctx), id); err != nil {
			return 0, err
		}
	}
	return len(checkouts), nil
}

// postRefunds posts refunds of licenses.
func (s *Store) postRefunds(ctx context.Context) (int, error) {
	refunds, err := license.UnpostedRefunds(ctx, s.DB, salesAtOnce)
	if err != nil {
		return 0, err
	}
	for _, f := range refunds {
		if err := s.Licenses.PostRefund(sqldb.InJob(ctx), f); err != nil {
			return 0, err
		}
	}
	return len(refunds), nil
}
