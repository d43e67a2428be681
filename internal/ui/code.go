package ui

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeCrossOrigin    = "cross_origin"
	codeFormTooLarge   = "form_too_large"
	codeInvalidForm    = "invalid_form"
	codeTooManyStreams = "too_many_streams"
)
