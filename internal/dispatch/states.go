package dispatch

import "claviger/internal/webhook"

// The states of a lane, and of the heads of licenses. They are independent of each other.
type (
	phase       int // progress of ending the lane
	knowledge   int // of the endpoint; requests start only if it is current
	condition   int // health of the endpoint as the lane knows it, which is part of the destination
	searchState int
	headState   int // of the first pending delivery of a license
)

const (
	running  phase = iota
	stopping       // starts none; ends when all answers are recorded
	leaving        // starts none; ends when no request is in flight
)

const (
	unknown    knowledge = iota // the next search loads it
	loading                     // the running search loads it
	loadingOld                  // the same, but it changed since
	current
	outdated // it changed: the next search loads it
)

const (
	open     condition = iota
	draining           // waiting retries are sent early
	parked             // only probes are sent
)

const (
	idle searchState = iota
	searching
	overtaken // it runs, and a record brought the endpoint's health since its start
)

const (
	free     headState = iota // not in memory
	queued                    // ready to be sent
	inFlight                  // its request runs
	answered                  // its answer is not yet recorded
	settled                   // recorded or dropped, while a running search may have found it
)

// message changes a state.
type message int

const (
	onStop   message = iota // phase: start none more, and end
	onLeave                 // the same, without waiting for answers to be recorded
	onReload                // endpoint: it changed
	onNewer                 // a poll read a newer version of it
	onExpiry                // one of its secrets has ended
	onLoad                  // a search that loads it starts
	onOpen                  // health, in the order of conditions: the lane learns that it is open
	onDrain                 // that it is draining
	onPark                  // that it is parked
	onSearch                // search: one starts
	onRecord                // a record brings the endpoint's health
	onFound                 // search, endpoint: the search has ended
	onStale                 // search: the same, but the endpoint changed: its result is not used
	onFailed                // search, endpoint: the search has failed
	onTaken                 // head: its delivery can be sent, and has space in memory
	onNews                  // the license may have another delivery
	onBegin                 // its request starts
	onCut                   // its request was cut off
	onAnswer                // its request has ended
	onNext                  // the answer is recorded, and the next delivery can be sent
	onSettle                // the answer is recorded
	onDrop                  // it is dropped unsent
	onFree                  // no search runs that may have found it
	numMessages
)

// table has the next state and the effect for each state and message of its type. A message without
// an entry never comes in that state. The package comment shows the tables.
type table[S any] [][numMessages]step[S]

var phases = table[phase]{
	running:  {onStop: {stopping, dropQueue}, onLeave: {leaving, dropQueue}},
	stopping: {onStop: {stopping, none}, onLeave: {leaving, none}},
	leaving:  {onStop: {leaving, none}, onLeave: {leaving, none}},
}

var endpoints = table[knowledge]{
	unknown: {onReload: {unknown, find}, onNewer: {unknown, none}, onExpiry: {unknown, none}, onLoad: {loading, none}},
	loading: {
		onReload: {loadingOld, find}, onNewer: {loading, none}, onExpiry: {loading, none},
		onFound: {current, adopt}, onFailed: {unknown, none},
	},
	loadingOld: {
		onReload: {loadingOld, find}, onNewer: {loadingOld, none}, onExpiry: {loadingOld, none},
		onFound: {unknown, none}, onFailed: {unknown, none},
	},
	current: {
		onReload: {outdated, find}, onNewer: {outdated, find}, onExpiry: {outdated, none},
		onFound: {current, none}, onFailed: {current, none},
	},
	outdated: {
		onReload: {outdated, find}, onNewer: {outdated, find}, onExpiry: {outdated, none},
		onLoad: {loading, none}, onFound: {outdated, none}, onFailed: {outdated, none},
	},
}

// A parked endpoint has no queue in memory. A recovered one starts with one request at a time, so
// that the backlog drains at a ramp.
var conditions = table[condition]{
	open:     {onOpen: {open, none}, onDrain: {draining, startSlowly}, onPark: {parked, dropQueue}},
	draining: {onOpen: {open, dropEarly}, onDrain: {draining, none}, onPark: {parked, dropQueue}},
	parked:   {onOpen: {open, startSlowly}, onDrain: {draining, startSlowly}, onPark: {parked, dropQueue}},
}

var searches = table[searchState]{
	idle:      {onSearch: {searching, none}, onRecord: {idle, none}},
	searching: {onRecord: {overtaken, none}, onFound: {idle, learn}, onStale: {idle, none}, onFailed: {idle, retry}},
	overtaken: {onRecord: {overtaken, none}, onFound: {idle, learnNew}, onStale: {idle, none}, onFailed: {idle, retry}},
}

var heads = table[headState]{
	free:     {onTaken: {queued, hold}, onNews: {free, checkSoon}},
	queued:   {onNews: {queued, checkLater}, onBegin: {inFlight, none}, onDrop: {settled, none}},
	inFlight: {onNews: {inFlight, checkLater}, onCut: {settled, none}, onAnswer: {answered, none}},
	answered: {onNews: {answered, checkLater}, onNext: {queued, hold}, onSettle: {settled, none}},
	settled:  {onNews: {settled, checkLater}, onFree: {free, release}},
}

// step is an entry of a table: the next state, and the effect on the lane.
type step[S any] struct {
	next   S
	effect effect
}

// effect is the effect of a message, besides a change of the state.
type effect int

const (
	never       effect = iota // the message does not come in this state
	none                      // only the state changes
	dropQueue                 // drop deliveries that are not started
	dropEarly                 // drop early retries that are not started, and search from the start
	startSlowly               // allow one request in flight, and search from the start
	find                      // search for due deliveries
	retry                     // search again in a while
	adopt                     // use the endpoint that the search loaded
	learn                     // use the health that the search read
	learnNew                  // the same if the endpoint changed since the record; if they differ, search again
	hold                      // keep it in memory and in the queue
	checkSoon                 // search for due deliveries of the license
	checkLater                // the same when it is free
	release                   // give its space back; check the license if there was news
)

// do has an effect: on a head, or of the result of a search.
func (l *lane) do(e effect, h *head, f *findings) {
	switch e {
	case none:
	case dropQueue:
		l.dropQueue()
	case dropEarly:
		l.dropEarly()
	case startSlowly:
		l.pace.limit = 1
		l.searchFromStart()
	case find:
		l.look.due = true
	case retry:
		l.look.more = false // the alarm searches for all
		l.alarm.set(pollEvery)
	case adopt:
		l.to = &webhook.Destination{Endpoint: f.To.Endpoint, Health: l.to.Health}
	case learn:
		l.learn(f.To.Health)
	case learnNew:
		if health := f.To.Health; health.Changed > l.to.Changed {
			l.learn(health)
		} else if conditionOf(&health) != conditionOf(&l.to.Health) {
			l.look.due = true
		}
	case hold:
		l.held[h.licenseID] = h
		l.queue = append(l.queue, h)
	case checkSoon:
		l.look.hints[h.licenseID] = true
	case checkLater:
		h.check = true
	case release:
		delete(l.held, h.licenseID)
		l.d.limits.memory.give(1)
		if h.check {
			l.look.hints[h.licenseID] = true
		}
	case never: // a mistake in this package; the message is ignored
		l.d.Log.Error("a webhook lane got a message that its state excludes", "partner_id", l.partnerID,
			"phase", l.ending.phase, "endpoint", l.endpoint, "search", l.look.search)
	}
}

// enter changes a state as its table says, and has the effect: on a head, or of the result of a
// search. States change only here.
func enter[S ~int](l *lane, t table[S], state *S, m message, h *head, f *findings) {
	s := t[*state][m]
	if s.effect != never {
		*state = s.next
	}
	l.do(s.effect, h, f)
}

// setPhase moves the lane to another phase.
func (l *lane) setPhase(m message) { enter(l, phases, &l.ending.phase, m, nil, nil) }

// know changes what the lane knows of its endpoint; f is the result of a search that has ended.
func (l *lane) know(m message, f *findings) { enter(l, endpoints, &l.endpoint, m, nil, f) }

// setSearch changes the state of the search; f is its result if it has ended.
func (l *lane) setSearch(m message, f *findings) { enter(l, searches, &l.look.search, m, nil, f) }

// setHead changes the state of a head.
func (l *lane) setHead(h *head, m message) { enter(l, heads, &h.state, m, h, nil) }

// learn updates the health of the endpoint, unless a newer one is known.
func (l *lane) learn(h webhook.Health) {
	if h.Changed < l.to.Changed {
		return
	}
	known := conditionOf(&l.to.Health)
	if h != l.to.Health {
		l.to = &webhook.Destination{Endpoint: l.to.Endpoint, Health: h}
	}
	enter(l, conditions, &known, onOpen+message(conditionOf(&h)), nil, nil)
}

// conditionOf returns the condition for a health.
func conditionOf(h *webhook.Health) condition {
	switch {
	case h.Parked():
		return parked
	case h.Draining():
		return draining
	}
	return open
}
