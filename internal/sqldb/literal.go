package sqldb

import "strconv"

// Literal formats a constant of the program, such as a state, for SQL. Use it only for statements
// that need a partial index: the planner uses one only if the statement contains the value that the
// index names. Every other value is a parameter.
func Literal[T ~int](constant T) string { return strconv.Itoa(int(constant)) }
