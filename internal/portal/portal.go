// Package portal serves the pages where a partner's people set up their integration,
// see what it does and mend it. It owns these pages and their texts; the domain
// packages do the work.
//
// Every page belongs to one partner and stands below /portal/{partner}. The table in
// routes.go says which role each page needs at least; no handler runs before the
// person's role was read from the database. What the console has, too (checking that,
// navigation, streams, pages that ask before an act), is in package area; its part of
// the isolation test is in areatest. To add a page:
//
//  1. write its file, such as deliveries.go, and its template pages/deliveries.html;
//  2. add its rows to Handler.Table;
//  3. add what fills its placeholders and forms to the registry in
//     isolation_registry_test.go: the isolation test covers each row by itself;
//  4. add it to the list of screenshots in internal/e2e/portal_pages_test.go.
package portal

import (
	"embed"
	"sync"
	"time"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/event"
	"claviger/internal/export"
	"claviger/internal/license"
	"claviger/internal/outage"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/replay"
	"claviger/internal/requestlog"
	"claviger/internal/simulator"
	"claviger/internal/stats"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

// Handler serves the pages.
type Handler struct {
	Site     *visitor.Site // with pages made by NewPages
	Partners *partner.Registry
	Profiles *profile.Book
	Checks   *profile.Runs
	Licenses *license.Registry
	Events   *event.Log
	Webhooks *webhook.Outbox
	History  history.Reader
	Replays  *replay.Jobs
	Live     *Live // made by NewLive
	Audit    *audit.Log
	Inviter  *partner.Inviter
	TestMail *outage.TestMailer
	Requests *requestlog.Log
	Stats    *stats.Book
	Exports  *export.Exporter
	Policy   webhook.Policy // what becomes of an endpoint that fails
	Streams  *ui.Streams    // open pages that follow what happens
	Now      func() time.Time

	Simulator *simulator.Simulator

	area *area.Area[Needs, *Visit] // made by Routes
}

//go:embed all:pages
var files embed.FS

var templates = sync.OnceValues(func() (*ui.Pages, error) { return area.ReadPages(files, setupFuncs) })

// NewPages returns the pages, for a marketplace of that name at that URL.
func NewPages(brand, publicURL string) (*ui.Pages, error) {
	p, err := templates()
	if err != nil {
		return nil, err
	}
	return p.For(brand, publicURL), nil
}
