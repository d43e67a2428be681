package httpd

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeUnknownHost = "unknown_host"
)
