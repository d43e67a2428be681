package main

import (
	"fmt"
	"os"
)

// colors are those of words that say how something went.
var colors = map[string]int{"pass": 32, "warn": 33, "fail": 31, "skipped": 90, "right": 32, "wrong": 31, "unclear": 33}

// colored pads a word to a width, in its color for a person at a terminal, unless
// NO_COLOR asks for none.
func colored(word string, width int) string {
	padded := fmt.Sprintf("%-*s", width, word)
	color, ok := colors[word]
	if !ok || !isTerminal(os.Stdout) || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return padded
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", color, padded)
}
