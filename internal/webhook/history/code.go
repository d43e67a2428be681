package history

// codeUnknownAttempt is the code of this package's fault. Clients depend on it: it never changes.
const codeUnknownAttempt = "unknown_attempt"
