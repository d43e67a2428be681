package export

// The codes of this package's faults. Clients depend on them: they never change.
const (
	codeExportEnded    = "export_ended"
	codeTooManyExports = "too_many_exports"
	codeUnknownExport  = "unknown_export"
)
