package api

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeSeveralKeys = "several_keys"
)
