package console

import "claviger/internal/area"

// Paths of the pages in the navigation.
const (
	todayPath      = ""
	searchPath     = "/search"
	partnersPath   = "/partners"
	peoplePath     = "/people"
	licensesPath   = "/licenses"
	purchasesPath  = "/purchases"
	deliveriesPath = "/deliveries"
	outagesPath    = "/outages"
	mailsPath      = "/mails"
	paymentsPath   = "/payments"
	payoutsPath    = "/payouts"
	ledgerPath     = "/ledger"

	refundRequestsPath = "/refund-requests"
	numbersPath        = "/numbers"
	bulkPath           = "/bulk"
	exportsPath        = "/exports"
	auditPath          = "/audit"
	tokensPath         = "/tokens"
	keysPath           = "/keys"
	jobsPath           = "/jobs"
	nodesPath          = "/nodes"
	settingsPath       = "/settings"
	teamPath           = "/team"
)

// navigation lists the pages of the console in order. An entry is shown if the table has its page
// and the person's role may see it.
var navigation = []area.Entry{
	{Label: "Today", Path: todayPath},
	{Label: "Search", Path: searchPath},
	{Group: "Customers", Label: "Partners", Path: partnersPath},
	{Group: "Customers", Label: "People", Path: peoplePath},
	{Group: "Customers", Label: "Licenses", Path: licensesPath},
	{Group: "Customers", Label: "Purchases", Path: purchasesPath},
	{
		Group: "Customers", Label: "Payments", Path: paymentsPath,
		Also: []string{ordersPath, disputesPath, refundRequestsPath},
	},
	{Group: "Customers", Label: "Payouts", Path: payoutsPath},
	{Group: "Customers", Label: "Ledger", Path: ledgerPath},
	{Group: "Delivery", Label: "Deliveries", Path: deliveriesPath},
	{Group: "Delivery", Label: "Outages", Path: outagesPath, Also: []string{redeliverPath}},
	{Group: "Delivery", Label: "Mails", Path: mailsPath},
	{Group: "Reports", Label: "Numbers", Path: numbersPath},
	{Group: "Reports", Label: "Exports", Path: exportsPath},
	{Group: "Reports", Label: "Bulk acts", Path: bulkPath},
	{Group: "Reports", Label: "Audit", Path: auditPath},
	{Group: "System", Label: "Tokens", Path: tokensPath},
	{Group: "System", Label: "Signing keys", Path: keysPath},
	{Group: "System", Label: "Jobs", Path: jobsPath},
	{Group: "System", Label: "Nodes", Path: nodesPath},
	{Group: "System", Label: "Settings", Path: settingsPath},
	{Group: "System", Label: "Team", Path: teamPath},
}
