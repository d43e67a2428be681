package portal

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeIsMember = "is_member"
)
