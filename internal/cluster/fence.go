package cluster

import (
	"context"

	"claviger/internal/sqldb"
)

// Fence knows, inside a transaction, which claims still hold. No other node can gain their shards
// before the transaction ends.
type Fence struct {
	result *sqldb.Result[Claim] // nil: no row decides
	always bool
}

// Fence locks the rows of the claims' shards, in order, with the next round trip of the
// transaction.
func (n *Node) Fence(tx *sqldb.Tx, claims []Claim) *Fence {
	if n == nil || n.alone.Load() || len(claims) == 0 {
		return &Fence{always: n != nil}
	}
	shards := make([]int64, len(claims))
	for i, c := range claims {
		shards[i] = int64(c.Shard)
	}
	return &Fence{result: sqldb.QueueQuery(tx, scanClaim,
		`SELECT shard, node, epoch FROM shards WHERE shard = ANY($1) ORDER BY shard`+tx.ForShare, shards)}
}

func scanClaim(r *sqldb.Row, c *Claim) error { return r.Scan(&c.Shard, &c.Node, &c.Epoch) }

// Held returns a function that reports whether a fenced claim still holds.
func (f *Fence) Held(ctx context.Context) (func(Claim) bool, error) {
	if f.result == nil {
		return func(Claim) bool { return f.always }, nil
	}
	rows, err := f.result.All(ctx)
	if err != nil {
		return nil, err
	}
	held := make(map[Claim]bool, len(rows))
	for _, c := range rows {
		held[c] = c.Node != ""
	}
	return func(c Claim) bool { return held[c] }, nil
}
