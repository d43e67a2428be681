package statement

// Fault codes of this package. Programs depend on them: they never change.
const (
	CodeUnknown = "unknown_statement"
)
