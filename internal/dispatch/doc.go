// Package dispatch sends deliveries from the memory of the node that owns them. It owns the lanes,
// the number of requests in flight, and the queue of answers to record. It has no tables in the
// database and no SQL: webhook finds deliveries and records results, courier signs and posts, and
// cluster decides which node sends for a partner.
//
// # Lanes
//
// Only the owner of a partner's shard sends for it. It has a lane for each partner with something
// to send: a goroutine with the deliveries in memory. A lane holds copies; the outbox is
// authoritative, and a lane can end at any time. No code waits for a lane: it receives messages
// through a mailbox. It learns of this node's own new deliveries after their commit, and of those of
// other nodes other nodes by hints. A poll each second finds everything else.
// The number of requests that a lane has in flight adapts to the answers of the endpoint. All lanes
// share the node's limits for requests in flight and deliveries in memory. A recorder stores
// answers in batches. While the database cannot be written, answers wait in memory, and soon
// nothing more is sent.
//
// # States
//
// A lane has four states, and one for each license. The tables show the effect of a message (row)
// in a state (column): the next state, if it is another one, then the effect. An empty cell has no
// effect, and "never" means that the message does not come in that state. The code follows the
// tables in states.go; a test compares them with these.
// A request starts if the phase is running, the endpoint is current and the head is queued, within
// the limits and while the claim is valid. An alarm and a poll demand a search. Of the messages in
// the mailbox, cut aborts all requests, and the others change states, in this order:
//
//	ended     Head: answer, cut off
//	recorded  Search: record; Head: news, next, settle
//	found     Endpoint: found, failed; Search: found, stale, failed; Head: taken, news, free
//	orders    Endpoint: reload
//	changed   Endpoint: newer version
//	fresh     Head: taken, news
//	hints     Head: news
//	orders    Phase: stop, leave
//
// A running lane also ends after being idle for a while. One that leaves waits for no records.
//
//	Phase  running               stopping  leaving
//	stop   stopping, drop queue
//	leave  leaving, drop queue   leaving
//
// A lane with a current endpoint without a URL sends nothing, and does not search.
//
//	Endpoint       unknown  loading              loading old  current           outdated
//	reload         search   loading old, search  search       outdated, search  search
//	newer version                                             outdated, search  search
//	secret ended                                              outdated
//	load           loading  never                never        never             loading
//	found          never    current, use it      unknown
//	failed         never    unknown              unknown
//
// The row is the health that the lane learns from a record or a search.
//
//	Health    open                                draining                      parked
//	open                                          open, drop early, search all  open, start slowly, search all
//	draining  draining, start slowly, search all                                draining, start slowly, search all
//	parked    parked, drop queue                  parked, drop queue            drop queue
//
// A lane runs one search at a time.
//
//	Search  idle       searching            overtaken
//	search  searching  never                never
//	record             overtaken
//	found   never      idle, learn health   idle, learn if newer
//	stale   never      idle                 idle
//	failed  never      idle, search in 1 s  idle, search in 1 s
//
// An offered or found delivery is taken if it can be sent now and there is space in memory;
// otherwise a search finds it later. News are offers, hints and found deliveries of a license in
// memory, hints of others, and records that changed more than their own delivery.
//
//	Head     free          queued           in flight        answered         settled
//	taken    queued, hold  never            never            never            never
//	news     check now     check when free  check when free  check when free  check when free
//	begin    never         in flight        never            never            never
//	cut off  never         never            settled          never            never
//	answer   never         never            answered         never            never
//	next     never         never            never            queued, hold     never
//	settle   never         never            never            settled          never
//	drop     never         settled          never            never            never
//	free     never         never            never            never            free, give space back
package dispatch
