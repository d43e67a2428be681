package browser

import (
	_ "embed"
	"encoding/json"
	"sync"
)

// contrast is the script that unreadable runs in a page.
//
//go:embed contrast.js
var contrast string

// colours are the text styles that axe found readable: colour, size and weight, and the backgrounds
// of the ancestors. This is axe's slowest check, and pages use few styles, so each is checked once.
// Text that is moved onto something else is checked each time; something moved under unmoved text
// is not noticed.
type colours struct {
	mu       sync.Mutex
	readable map[string]bool
}

// unknown returns the positions of styles that are not known to be readable.
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

// unreadable lists text with too little contrast, and links that differ from the text around them
// only by a weak colour.
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
