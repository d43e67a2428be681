package portal_test

import (
	"net/url"

	"claviger/internal/area/areatest"
	"claviger/internal/partner"
)

// placeholders fill the {names} of paths: with an existing thing of the partner or, for the partner
// nobody, with a value of the same form that does not exist. A route with a new name needs an entry
// here; without it the isolation test fails.
var placeholders = map[string]func(h *harness, p partner.Partner) string{}

// nobody is no partner.
var nobody partner.Partner

// forms fill the forms of acts, by path, with ids of the partner's own things. Every act is listed,
// also those without fields.
var forms = map[string]func(h *harness, p partner.Partner) url.Values{
	"/setup/redirect-url": emptyForm,
	"/setup/webhook-url":  emptyForm,
}

// emptyForm returns an empty form.
func emptyForm(*harness, partner.Partner) url.Values { return url.Values{} }

// queries are the queries of pages and streams, by path, with ids of a partner's things. Pages
// without such ids are not listed.
var queries = map[string]func(h *harness, p partner.Partner) url.Values{}

// registry combines them.
var registry = areatest.Registry[*harness, partner.Partner]{Placeholders: placeholders, Forms: forms, Queries: queries}
