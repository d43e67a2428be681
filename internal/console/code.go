package console

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeIsOperator = "is_operator"
	codePlanExists = "plan_exists"
	codeUnknownAlg = "unknown_alg"
	CodeNeedsAdmin = "needs_admin"
	CodeNeedsStep  = "needs_step"
)
