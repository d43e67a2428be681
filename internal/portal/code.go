package portal

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeIncompleteForm = "incomplete_form"
	codeIsMember       = "is_member"
)
