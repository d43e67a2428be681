package main

import (
	"strconv"
	"strings"
)

// place is the position of a change in the code with all changes.
type place struct{ number, from, to int }

// Marks are characters that no code contains. They enclose the text of a change until locate has
// found its place.
const (
	opening = "\x01"
	closing = "\x02"
)

// mark encloses the text of a change.
func mark(number int, text string) string {
	return opening + strconv.Itoa(number) + closing + text + opening + closing
}

// locate removes the marks from a text and returns the places between them.
func locate(text string) (string, []place) {
	var b strings.Builder
	var places []place
	var open []int // indexes of places
	for {
		before, rest, found := strings.Cut(text, opening)
		b.WriteString(before)
		if !found {
			return b.String(), places
		}
		id, after, _ := strings.Cut(rest, closing)
		text = after
		if number, err := strconv.Atoi(id); err == nil {
			open = append(open, len(places))
			places = append(places, place{number: number, from: b.Len()})
			continue
		}
		places[open[len(open)-1]].to = b.Len()
		open = open[:len(open)-1]
	}
}

// innermost returns the number of the change with the smallest place around an offset, or 0.
func innermost(places []place, at int) int {
	var best place
	for _, p := range places {
		if p.from <= at && at <= p.to && (best.number == 0 || p.to-p.from < best.to-best.from) {
			best = p
		}
	}
	return best.number
}

// next returns the number of the first change after an offset, or 0.
func next(places []place, at int) int {
	var best place
	for _, p := range places {
		if p.from >= at && (best.number == 0 || p.from < best.from) {
			best = p
		}
	}
	return best.number
}
