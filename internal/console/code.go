package console

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeAssisted   = "assisted_session"
	codePlanExists = "plan_exists"
	codeUnknownAlg = "unknown_alg"

	codeSecondFactor = "second_factor_required"
	CodeNeedsAdmin   = "needs_admin"
	CodeNeedsStep    = "needs_step"
)
