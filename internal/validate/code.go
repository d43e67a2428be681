package validate

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeInvalidURL = "invalid_url"
)
