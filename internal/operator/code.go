package operator

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeBatchTooLarge       = "batch_too_large"
	codeInvalidImport       = "invalid_import"
	codeIdempotencyRequired = "idempotency_required"
	codeMissingScope        = "missing_scope"
)
