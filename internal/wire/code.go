package wire

// Fault codes of this package. Programs depend on them: they never change.
const (
	codeBodyTooLarge         = "body_too_large"
	CodeInvalidBody          = "invalid_body"
	codeMethodNotAllowed     = "method_not_allowed"
	CodeNotFound             = "not_found"
	CodeRateLimited          = "rate_limited"
	codeTooManyAtOnce        = "too_many_at_once"
	codeTooManyFailures      = "too_many_failures"
	codeUnknownParameter     = "unknown_parameter"
	codeUnsupportedMediaType = "unsupported_media_type"
)
