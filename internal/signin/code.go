package signin

// Codes of this package's faults. Programs depend on them, so they never change.
const codeAssisted = "assisted_session"
