// Package notice tells buyers by mail what became of what they bought: a license is ready,
// its receipt, another plan, a refund, a hold and its end. The mails are put into the
// outbox in the transaction of their cause. It owns no table; package license says what
// happened, and this package whom it tells and in which words.
//
// A mail goes to the owner of a license alone, and says nothing about anybody else.
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

// Audience is whose purchases buyers are told of.
type Audience string

// The audiences.
const (
	Shop   Audience = "shop" // those who bought on our own pages
	All    Audience = "all"  // also those to whom the operator's programs sold
	Nobody Audience = "none"
)

// ParseAudience reads an audience.
func ParseAudience(s string) (Audience, error) {
	switch a := Audience(s); a {
	case Shop, All, Nobody:
		return a, nil
	}
	return "", fmt.Errorf("must be %s, %s or %s", Shop, All, Nobody)
}

// Desk writes the mails.
type Desk struct {
	Mail        *mail.Outbox
	Audience    Audience
	PublicURL   string // the address that links begin with, without a slash at its end
	Marketplace string // what mails call it
	LegalName   string // of who sells; "" is Marketplace
}

// Tell puts the mails about news into the outbox, in the transaction of what happened.
func (d *Desk) Tell(ctx context.Context, tx *sqldb.Tx, news []license.News) error {
	news, sales, err := d.wanted(ctx, tx, news)
	if err != nil || len(news) == 0 {
		return err
	}
	var owners, partners []int64
	for _, n := range news {
		owners, partners = append(owners, n.OwnerID), append(partners, n.License.PartnerID)
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
		u := users[n.OwnerID] // nobody's if the owner was erased
		if u.Email != "" {
			l := letter{Desk: d, subject: n, user: u, application: applications[n.License.PartnerID], sales: sales}
			mails = append(mails, l.mails()...)
		}
	}
	d.Mail.PutAll(tx, news[0].At, mails...)
	return nil
}

// wanted are the news that somebody is told of, and the purchases that they are about.
// Nothing is read about a sale of the operator's programs that nobody is told of.
func (d *Desk) wanted(ctx context.Context, tx *sqldb.Tx, news []license.News) ([]license.News, map[int64]license.Sale, error) {
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

// subject is what one mail is about: the news of one license, or those of a refund of
// several licenses of the same owner.
type subject struct {
	license.News
	licenses []license.License
}

// group makes one subject of the news about the same refund and owner, and of the other
// news one each.
func group(news []license.News) []subject {
	type refund struct {
		what      license.Happening
		id, owner int64
	}
	var list []subject
	known := map[refund]int{} // where it is in list
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
