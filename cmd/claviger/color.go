package main

import (
	"fmt"
	"os"
)

// colors are the colors of result words.
var colors = map[string]int{"pass": 32, "warn": 33, "fail": 31, "skipped": 90, "right": 32, "wrong": 31, "unclear": 33}

// colored pads a word to a width, in its color if standard output is a terminal that wants it.
func colored(word string, width int) string {
	return paint(word, width, wantsColor(isTerminal(os.Stdout), os.Getenv))
}

// wantsColor reports whether to use colors: on a terminal, unless NO_COLOR is set.
func wantsColor(terminal bool, getenv func(string) string) bool {
	return terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}

func paint(word string, width int, color bool) string {
	padded := fmt.Sprintf("%-*s", width, word)
	if code, ok := colors[word]; ok && color {
		return fmt.Sprintf("\x1b[%dm%s\x1b[0m", code, padded)
	}
	return padded
}
