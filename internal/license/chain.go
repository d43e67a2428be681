package license

import "claviger/internal/sqldb"

// linkColumns are the columns of a link, in the order of scanLink and link.row.
var linkColumns = []string{"license_id", "seq", "purchase_id", "tier", "refund_id", "amount", "credit", "currency"}

// linkMoney selects amount, credit and currency of links k of purchases p. Nodes of the release
// before, which run during an upgrade, write links without an amount and a currency.
const linkMoney = `CASE WHEN k.currency <> '' OR p.quantity < 1 THEN k.amount ELSE p.amount_cents / p.quantity END,
	k.credit, CASE WHEN k.currency <> '' THEN k.currency ELSE p.currency END`

const chainOf = `SELECT k.seq, k.purchase_id, k.tier, k.refund_id, ` + linkMoney + `
	FROM purchase_links AS k JOIN purchases AS p ON p.id = k.purchase_id WHERE k.license_id = $1 ORDER BY k.seq`

func scanLink(r *sqldb.Row, k *link) error {
	return r.Scan(&k.seq, &k.purchaseID, &k.tier, &k.refundID, &k.amount, &k.credit, &k.currency)
}

// row returns the link as a row of purchase_links.
func (k link) row(licenseID int64) []any {
	return []any{licenseID, k.seq, k.purchaseID, k.tier, k.refundID, k.amount, k.credit, k.currency}
}

// newLink returns the link of one license to a new sale.
func newLink(seq int, s Sale, credit int64) link {
	return link{
		seq: seq, purchaseID: s.ID, tier: s.Tier, amount: s.AmountCents / int64(s.Quantity), credit: credit,
		currency: s.Currency,
	}
}

// kept returns the money in a chain that was not refunded, in one currency.
func kept(chain []link, currency string) int64 {
	var sum int64
	for _, k := range chain {
		if k.refundID == 0 && k.currency == currency {
			sum += k.amount
		}
	}
	return sum
}

// stands reports whether the i-th link is not refunded and the money kept in the chain
// covers it. A link that needs no money stands until it is refunded.
func stands(chain []link, i int) bool {
	k := chain[i]
	return k.refundID == 0 && k.amount+k.credit <= kept(chain, k.currency)
}

// uncovered reports whether the i-th link is neither refunded nor standing.
func uncovered(chain []link, i int) bool { return chain[i].refundID == 0 && !stands(chain, i) }

// ended reports whether no link stands: the license entitles to nothing.
func ended(chain []link) bool {
	for i := range chain {
		if stands(chain, i) {
			return false
		}
	}
	return true
}

// refunded reports whether no link is open: there is nothing left to refund. A license that
// has ended may still have open links.
func refunded(chain []link) bool {
	for _, k := range chain {
		if k.refundID == 0 {
			return false
		}
	}
	return true
}

// laterOpen reports whether a link after the n-th is not refunded.
func laterOpen(chain []link, n int) bool { return !refunded(chain[n+1:]) }
