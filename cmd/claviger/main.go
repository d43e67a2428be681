// Command claviger is the licensing service and everything an operator or a
// developer does to it from a terminal. It reads flags, calls the packages and
// prints; what the commands do is in package app and below.
package main

import (
	"context"
	"os"
)

func main() { os.Exit(execute(context.Background())) }
