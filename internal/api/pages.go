package api

import (
	"container/list"
	"slices"
	"sync"

	"claviger/internal/event"
	"claviger/internal/paging"
)

// keptBytes bounds what all kept pages take, about two hundred full ones, each
// with keptRoom for what remembers it.
const (
	keptBytes = 8 << 20
	keptRoom  = 512
)

// pages keeps pages of the license list as they were answered. Every change of a
// license is a turn of its partner, and the statement that authenticates a
// request reads how many turns there were, so a page that was read since that
// turn is as fresh as one read anew: partners who ask again and again cost
// little, and never see an old page. The zero value is ready.
type pages struct {
	mu    sync.Mutex
	byKey map[pageKey]*list.Element
	used  list.List // of *keptPage, the latest first
	bytes int
}

// pageKey is what a page is asked for by.
type pageKey struct {
	partnerID int64
	status    event.Status
	page      paging.Page
}

type keptPage struct {
	key   pageKey
	turns int64
	total int64
	body  []byte
}

// find returns the page if it was read at this turn.
func (p *pages) find(key pageKey, turns int64) (*keptPage, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.byKey[key]
	if !ok {
		return nil, false
	}
	k := e.Value.(*keptPage)
	if k.turns != turns {
		return nil, false
	}
	p.used.MoveToFront(e)
	return k, true
}

// keep remembers a page that was read after the turn was, in place of an older
// one, and forgets those used least to stay within bounds.
func (p *pages) keep(key pageKey, turns, total int64, body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byKey == nil {
		p.byKey = map[pageKey]*list.Element{}
	}
	if e, ok := p.byKey[key]; ok {
		p.drop(e)
	}
	p.byKey[key] = p.used.PushFront(&keptPage{key: key, turns: turns, total: total, body: slices.Clone(body)})
	p.bytes += len(body) + keptRoom
	for p.bytes > keptBytes {
		p.drop(p.used.Back())
	}
}

func (p *pages) drop(e *list.Element) {
	k := p.used.Remove(e).(*keptPage)
	delete(p.byKey, k.key)
	p.bytes -= len(k.body) + keptRoom
}
