// Command claviger is the licensing service and the command line for operators and developers. It
// reads flags, calls the packages and prints; package app and those below it do the work.
package main

import (
	"context"
	"os"
)

func main() { os.Exit(execute(context.Background())) }
