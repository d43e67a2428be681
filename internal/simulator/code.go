package simulator

// The codes of this package's faults. Clients depend on them: they never change.
const (
	CodeUnknownScenario    = "unknown_scenario"
	CodeUnknownEventKind   = "unknown_event_kind"
	CodeUnknownRun         = "unknown_run"
	CodeNoWebhookURL       = "no_webhook_url"
	CodeUnknownTestLicense = "unknown_test_license"
)
