package webhook

// codeUnknownEvent is the code of this package's fault. Programs depend on it: it never
// changes.
const codeUnknownEvent = "unknown_event"
