// Package notice emails buyers about their purchases: a license is ready, a receipt, a plan change,
// a refund, a hold and its end. The emails are queued in the transaction of their cause. It owns no
// table; package license reports the changes, and this package chooses the recipients and texts.
//
// An email goes only to the owner of a license, and contains nothing about other people.
package notice

import (
	"context"
	"fmt"

	"claviger/internal/account"
	"claviger/internal/license"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// Audience selects the purchases that buyers are emailed about.
type Audience string

// The audiences.
const (
	Shop   Audience = "shop" // purchases on our own pages
	All    Audience = "all"  // also sales by the operator's programs
	Nobody Audience = "none"
)

// ParseAudience parses an audience.
func ParseAudience(s string) (Audience, error) {
	switch a := Audience(s); a {
	case Shop, All, Nobody:
		return a, nil
	}
	return "", fmt.Errorf("must be %s, %s or %s", Shop, All, Nobody)
}

// Mailer writes the emails.
type Mailer struct {
	Mail        *mail.Outbox
	Audience    Audience
	PublicURL   string // prefix of links, without a trailing slash
	Marketplace string // its name in emails
	LegalName   string // of the seller; "": Marketplace
}

// Tell queues the emails about news, in the transaction of the change.
func (d *Mailer) Tell(ctx context.Context, tx *sqldb.Tx, news []license.News) error {
	news, sales, err := d.wanted(ctx, tx, news)
	if err != nil || len(news) == 0 {
		return err
	}
	var owners, partners []int64
	for _, n := range news {
		owners = append(owners, n.OwnerID)
		partners = append(partners, n.License.PartnerID)
	}
	users, err := account.ByID(ctx, tx, owners)
	if err != nil {
		return err
	}
	applications, err := partner.ByID(ctx, tx, partners)
	if err != nil {
		return err
	}
	var mails []mail.Message
	for _, n := range group(news) {
		u := users[n.OwnerID] // zero if the owner was erased
		if u.Email != "" {
			l := email{Mailer: d, subject: n, user: u, application: applications[n.License.PartnerID], sales: sales}
			mails = append(mails, l.mails()...)
		}
	}
	d.Mail.PutAll(tx, news[0].At, mails...)
	return nil
}

// wanted returns the news to be emailed, and the purchases they are about. It reads nothing
// about sales by the operator's programs that are not emailed.
func (d *Mailer) wanted(
	ctx context.Context,
	tx *sqldb.Tx,
	news []license.News,
) ([]license.News, map[int64]license.Sale, error) {
	var list []license.News
	for _, n := range news {
		if d.Audience == All || n.What != license.Sold || n.Sale.Shop {
			list = append(list, n)
		}
	}
	if d.Audience == Nobody || len(list) == 0 {
		return nil, nil, nil
	}
	sales, err := license.SalesOf(ctx, tx, list)
	if err != nil || d.Audience == All {
		return list, sales, err
	}
	var shop []license.News
	for _, n := range list {
		if n.ByShop(sales) {
			shop = append(shop, n)
		}
	}
	return shop, sales, nil
}

// subject is the subject of one email: the news of one license, or of a refund of several licenses
// of the same owner.
type subject struct {
	license.News
	licenses []license.License
}

// group makes one subject of the news about the same refund and owner, and one of each other news.
func group(news []license.News) []subject {
	type refund struct {
		what      license.Happening
		id, owner int64
	}
	var list []subject
	known := map[refund]int{} // index in list
	for _, n := range news {
		key := refund{n.What, n.RefundID, n.OwnerID}
		if at, ok := known[key]; ok && n.RefundID != 0 {
			of := &list[at]
			of.licenses = append(of.licenses, n.License)
			of.Whole = of.Whole && n.Whole
			continue
		}
		known[key] = len(list)
		s := subject{News: n, licenses: []license.License{n.License}}
		if n.What == license.Sold {
			s.licenses = n.Sale.Licenses
		}
		list = append(list, s)
	}
	return list
}
