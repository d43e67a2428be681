package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
)

// progress shows progress on a terminal, and nothing elsewhere.
type progress struct {
	to    io.Writer
	word  string
	shown bool
}

func newProgress(to io.Writer, word string) *progress {
	return &progress{to: to, word: word}
}

// show prints the progress; all is 0 if unknown.
func (p *progress) show(done, all int64) {
	if !isTerminal(os.Stderr) {
		return
	}
	text := strconv.FormatInt(done, 10)
	if all > 0 {
		text += " of " + strconv.FormatInt(all, 10)
	}
	p.shown = true
	_, _ = fmt.Fprintf(p.to, "\r\x1b[K%s %s", text, p.word) // a lost line is no failure
}

// end clears the line.
func (p *progress) end() {
	if p.shown {
		_, _ = fmt.Fprint(p.to, "\r\x1b[K") // likewise
	}
}
