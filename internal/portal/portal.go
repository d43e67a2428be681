// Package portal serves the pages where a partner's people set up, watch and fix their integration.
// It owns these pages and their texts; the domain packages do the work.
//
// Every page belongs to one partner and is below /portal/{partner}. The table in routes.go has the
// least role of each page; no handler runs before the person's role is read from the database.
// Package area has the parts that the console uses, too: this check, navigation, streams and pages
// that ask before an act. Its areatest has the shared part of the isolation test. To add a page:
//
//  1. write its file, such as deliveries.go, and its template pages/deliveries.html;
//  2. add its rows to Handler.Table;
//  3. add values for its placeholders and forms to the registry in
//     isolation_registry_test.go: the isolation test covers each row separately;
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
	"claviger/internal/payout"
	"claviger/internal/profile"
	"claviger/internal/redelivery"
	"claviger/internal/refundrequest"
	"claviger/internal/requestlog"
	"claviger/internal/revenue"
	"claviger/internal/simulator"
	"claviger/internal/statement"
	"claviger/internal/stats"
	"claviger/internal/ui"
	"claviger/internal/visitor"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
)

// Handler serves the pages of the portal.
type Handler struct {
	Site         *visitor.Site // with pages made by NewPages
	Partners     *partner.Store
	Profiles     *profile.Store
	Checks       *profile.Runs
	Licenses     *license.Store
	Events       *event.Log
	Webhooks     *webhook.Outbox
	History      history.Reader
	Redeliveries *redelivery.Store
	Live         *Live // made by NewLive
	Audit        *audit.Log
	Inviter      *partner.Inviter
	TestMail     *outage.TestMailer
	Requests     *requestlog.Log
	Stats        *stats.Store
	Revenue      *revenue.Store
	Exports      *export.Exporter
	Policy       webhook.Policy // rules for failing endpoints
	Streams      *ui.Streams    // open pages that are updated live
	Now          func() time.Time

	Simulator *simulator.Simulator

	RefundRequests *refundrequest.Store
	Payouts        *payout.Store

	Statements *statement.Store

	area *area.Area // made by Routes
}

//go:embed all:pages
var files embed.FS

var templates = sync.OnceValues(func() (*ui.Pages, error) { return area.ReadPages(files) })

// NewPages returns the page templates for a marketplace with this name and URL.
func NewPages(brand, publicURL string) (*ui.Pages, error) {
	p, err := templates()
	if err != nil {
		return nil, err
	}
	return p.For(brand, publicURL), nil
}
