package merge

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeUserBusy   = "user_busy"
	codeSamePerson = "same_person"
	codeIntoGuest  = "into_guest"
	codeNotProven  = "not_proven"
)
