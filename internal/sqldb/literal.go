package sqldb

import "strconv"

// Literal writes a constant of the program, such as a state, into SQL. It is for a
// statement that must use a partial index: the planner does so only if the statement
// itself has the value that the index names. Every other value is a parameter.
func Literal[T ~int](constant T) string { return strconv.Itoa(int(constant)) }
