package portal_test

import (
	"net/url"

	"claviger/internal/area/areatest"
	"claviger/internal/partner"
)

// placeholders fill the {names} of paths: with something of the partner that exists,
// and, for the partner nobody, with a value of the same form that does not exist. Who
// adds a route with a new name adds it here; the isolation test fails without it.
var placeholders = map[string]func(h *harness, p partner.Partner) string{}

// nobody is no partner.
var nobody partner.Partner

// forms fill the forms of acts, by path: with ids of the partner's own things, likewise.
// Every act is listed, one without fields with none.
var forms = map[string]func(h *harness, p partner.Partner) url.Values{
	"/setup/redirect-url": emptyForm,
	"/setup/webhook-url":  emptyForm,
}

// emptyForm is a form that is sent empty.
func emptyForm(*harness, partner.Partner) url.Values { return url.Values{} }

// queries are what pages and streams are asked with, by path, besides their path: ids of
// things that belong to a partner. Pages that take none are not listed.
var queries = map[string]func(h *harness, p partner.Partner) url.Values{}

// registry is all of it.
var registry = areatest.Registry[*harness, partner.Partner]{Placeholders: placeholders, Forms: forms, Queries: queries}
