package fault

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeInvalidField     = "invalid_field"
	CodeInvalidParameter = "invalid_parameter"
)
