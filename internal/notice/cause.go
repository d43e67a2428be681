package notice

import (
	"fmt"
	"slices"
	"strings"

	"claviger/internal/license"
	"claviger/internal/mail"
)

// The cause of an email is its kind with one of these, so that no two emails have the same.
const (
	aboutPurchase = "purchase %d"
	aboutRefund   = "refund %d to user %d"
	aboutLicense  = "license %d at %d"
)

// between separates the kind from one of them in a cause.
const between = " mail about "

func causeOf(k mail.Kind, about string) string { return string(k) + between + about }

// About reports whether the email with this cause concerns a license, or a purchase or refund of it.
func About(cause string, l license.Detail) bool {
	return strings.Contains(cause, between) && !AboutAnother(cause, l)
}

// AboutAnother reports whether the email with this cause concerns another license, or a purchase or
// refund of another license.
func AboutAnother(cause string, l license.Detail) bool {
	_, about, found := strings.Cut(cause, between)
	if !found {
		return false
	}
	var id, more int64
	if n, _ := fmt.Sscanf(about, aboutPurchase, &id); n == 1 {
		return !slices.ContainsFunc(l.Links, func(k license.Link) bool { return k.Sale.ID == id })
	}
	if n, _ := fmt.Sscanf(about, aboutRefund, &id, &more); n == 2 {
		return !slices.ContainsFunc(l.Refunds, func(f license.Refund) bool { return f.ID == id })
	}
	n, _ := fmt.Sscanf(about, aboutLicense, &id, &more)
	return n == 2 && id != l.ID
}
