package ui

import (
	"embed"
	"fmt"
	"html/template"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The frame is the markup around the content of every page: frame/frame.html. html/template takes
// longer for it than the database for a list. So a template of the frame is rendered once per
// shape, with a slot for each text, and each request fills its own texts into the slots. The shape
// is all that the template can decide by: the flags, and which texts are empty.
//
// The cache contains no text of a request: the data that it is rendered from has only slots.

//go:embed frame/frame.html
var frameFolder embed.FS

var frameTemplates = func() *template.Template {
	t := template.New("frame").Funcs(helpers)
	if err := (file{frameFolder, "frame/frame.html"}).parse(t); err != nil {
		panic(err) // the frame is part of the program
	}
	return t
}()

// texts walks through the texts and flags of a page, in the order in which they become the data of
// a template. It collects the texts and their shape, and, with made, the data contains made's
// result for each text.
type texts struct {
	shape []byte
	list  []string
	made  func(number int, text string) string // nil: the data is not used
}

// reset forgets the page before. Both lists keep their memory.
func (t *texts) reset(template string) {
	clear(t.list)
	t.list = t.list[:0]
	t.shape = append(t.shape[:0], template...)
}

// text adds a text. An empty one belongs to the shape, so the template can leave it out.
func (t *texts) text(s string) string {
	t.list = append(t.list, s)
	if t.flag(s != "") && t.made != nil {
		return t.made(len(t.list)-1, s)
	}
	return ""
}

// flag adds a flag to the shape.
func (t *texts) flag(on bool) bool {
	if on {
		t.shape = append(t.shape, '1')
	} else {
		t.shape = append(t.shape, '0')
	}
	return on
}

// items adds a list of links.
func (t *texts) items(list []Item) []Item {
	var made []Item
	for _, item := range list {
		t.flag(true)
		item = Item{Label: t.text(item.Label), URL: t.text(item.URL), Current: t.flag(item.Current)}
		if t.made != nil {
			made = append(made, item)
		}
	}
	t.flag(false)
	return made
}

// slot takes the place of a text. html/template escapes it differently in each context, so its
// escaped form tells the context.
func slot(number int, _ string) string { return "/claviger-slot =<" + strconv.Itoa(number) + ">" }

// slots finds a slot as text or in a quoted attribute, or as a whole URL in a quoted attribute.
var slots = regexp.MustCompile(`/claviger-slot =&lt;(\d+)&gt;|/claviger-slot%20=%3c(\d+)%3e`)

// piece is constant markup, and the text after it.
type piece struct {
	markup string
	number int // of the text; -1: none
	isURL  bool
}

// cut cuts rendered markup at its slots. It fails on a slot in another context; html/template writes
// ZgotmplZ in place of a slot that may not be in its context at all.
func cut(markup string) ([]piece, error) {
	var pieces []piece
	from := 0
	for _, at := range slots.FindAllStringSubmatchIndex(markup, -1) {
		p := piece{markup: markup[from:at[0]], isURL: at[2] < 0}
		digits := at[2:4]
		if p.isURL {
			digits = at[4:6]
		}
		number, err := strconv.Atoi(markup[digits[0]:digits[1]])
		if err != nil {
			return nil, err
		}
		p.number = number
		pieces = append(pieces, p)
		from = at[1]
	}
	pieces = append(pieces, piece{markup: markup[from:], number: -1})
	for _, p := range pieces {
		if strings.Contains(p.markup, "claviger-slot") || strings.Contains(p.markup, "ZgotmplZ") {
			return nil, fmt.Errorf("a text of the frame is neither text nor a whole URL: %s", p.markup)
		}
	}
	return pieces, nil
}

// maxShapes bounds the cache. Each kind of page has a few shapes per role, of about 3 KB.
const maxShapes = 500

// shapes is the cache: the pieces by template and shape.
var shapes = shapeCache{known: make(map[string][]piece)}

type shapeCache struct {
	mu    sync.RWMutex
	known map[string][]piece
}

// get returns the pieces of a shape; nil if it is not in the cache.
func (c *shapeCache) get(shape []byte) []piece {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.known[string(shape)]
}

// add adds a shape. A full cache starts again: it fills within a few pages.
func (c *shapeCache) add(shape []byte, pieces []piece) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxShapes {
		clear(c.known)
	}
	c.known[string(shape)] = pieces
}

// frame writes a template of the frame. data adds each text and flag of the template's data in the
// same order each time.
func (m *markup) frame(name string, data func(*texts) any) error {
	m.texts.reset(name)
	data(&m.texts)
	pieces := shapes.get(m.texts.shape)
	if pieces == nil {
		var b strings.Builder
		err := frameTemplates.ExecuteTemplate(&b, name, data(&texts{made: slot}))
		if err == nil {
			pieces, err = cut(b.String())
		}
		if err != nil {
			return fmt.Errorf("render the frame: %w", err)
		}
		shapes.add(m.texts.shape, pieces)
	}
	for _, p := range pieces {
		m.raw(p.markup)
		switch {
		case p.number < 0:
		case p.isURL:
			m.url(m.texts.list[p.number])
		default:
			m.text(m.texts.list[p.number])
		}
	}
	return nil
}
