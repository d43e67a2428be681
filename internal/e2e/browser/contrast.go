package browser

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// contrast is what unreadable asks of a page.
//
//go:embed contrast.js
var contrast string

// colours are the ways in which text is painted that axe found to be readable: its
// colour, size and weight, and what its ancestors paint behind it. Axe takes longest for
// that, and pages are mostly painted in the same few ways, so each is judged once. Text
// that is moved onto something else is judged each time; what is moved under text that
// stays in its place is not seen.
type colours struct {
	mu       sync.Mutex
	readable map[string]bool
}

// unknown returns the places of those ways that are not known to be readable.
func (c *colours) unknown(ways []string) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	places := []int{}
	for i, way := range ways {
		if !c.readable[way] {
			places = append(places, i)
		}
	}
	return places
}

func (c *colours) add(ways []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, way := range ways {
		c.readable[way] = true
	}
}

// unreadable lists the text that has too little contrast, and links that only colours
// tell from the text around them, and not well.
func (tab *Tab) unreadable() []string {
	tab.t.Helper()
	ways := Eval[[]string](tab, "claviger.ways()")
	places := tab.colours.unknown(ways)
	if len(places) == 0 {
		return nil
	}
	list, _ := json.Marshal(places) // of numbers
	seen := Eval[struct{ Breaches, Readable []string }](tab, "claviger.judge("+string(list)+")")
	tab.colours.add(seen.Readable)
	return seen.Breaches
}
