package area

// The codes of this package's faults. Programs depend on them: they never change.
const (
	CodeIncompleteForm = "incomplete_form"
	CodeChangedSince   = "changed_since"

	codeIsMember = "is_member"
)
