package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
)

// progress shows on a terminal how far something is; elsewhere it shows nothing.
type progress struct {
	to    io.Writer
	word  string
	shown bool
}

func newProgress(to io.Writer, word string) *progress {
	return &progress{to: to, word: word}
}

// show says how many of how many are done; all is 0 where that is not known.
func (p *progress) show(done, all int64) {
	if !isTerminal(os.Stderr) {
		return
	}
	text := strconv.FormatInt(done, 10)
	if all > 0 {
		text += " of " + strconv.FormatInt(all, 10)
	}
	p.shown = true
	_, _ = fmt.Fprintf(p.to, "\r\x1b[K%s %s", text, p.word) // a line that is lost is no failure
}

// end clears the line.
func (p *progress) end() {
	if p.shown {
		_, _ = fmt.Fprint(p.to, "\r\x1b[K") // likewise
	}
}
