package visitor

// The codes of this package's faults. Programs depend on them: they never change.
const codeSignInRequired = "sign_in_required"
