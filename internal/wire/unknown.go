package wire

import (
	"strings"

	"claviger/internal/fault"
	"claviger/internal/validate"
)

// unknownParameter returns the fault for an unknown query parameter or body member. Accepting it
// would be a guess: a mistyped filter would list everything, a mistyped currency would make a plan
// free. prefix is the position of the name in the body.
func unknownParameter(what, prefix, name string, known []string) error {
	path := prefix + short(strings.ToValidUTF8(name, "\ufffd"))
	f := fault.New(fault.Invalid, codeUnknownParameter, "This request has no %s %s. ", what, path).On(path)
	switch near := validate.Nearest(name, known); {
	case near != "":
		f.Text += "Did you mean " + prefix + near + "?"
	case len(known) > 0:
		f.Text += "It takes " + prefix + strings.Join(known, ", "+prefix) + "."
	default:
		f.Text += "It takes none; leave it out."
	}
	return f
}
