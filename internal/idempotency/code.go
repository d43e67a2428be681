package idempotency

// The codes of this package's faults. Programs depend on them: they never change.
const (
	codeExternalIDReused      = "external_id_reused"
	CodeIdempotencyKeyInUse   = "idempotency_key_in_use"
	CodeIdempotencyKeyReused  = "idempotency_key_reused"
	CodeInvalidIdempotencyKey = "invalid_idempotency_key"
)
