package httpd

// Fault codes of this package. Programs depend on them: they never change.
const (
	codeUnknownHost = "unknown_host"
)
