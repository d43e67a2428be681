package dispatch

import (
	"sync"

	"claviger/internal/webhook"
)

// mail contains the messages for a lane since it last looked.
type mail struct {
	fresh    []*webhook.Item // new deliveries, each the first pending one of its license
	hints    []int64         // licenses to check for due deliveries
	ended    []ended         // requests
	recorded []recorded      // answers
	found    *findings       // result of a search
	changed  int64           // version in the row of the endpoint
	orders   orders
}

// orders is a set of messages without content.
type orders uint8

const (
	orderCut    orders = 1 << iota // abort all requests
	orderDue                       // something is due
	orderReload                    // the endpoint changed
	orderStop                      // start nothing more, and end
	orderLeave                     // the same, without waiting for answers to be recorded
)

// ordered returns the function that adds orders to the mail.
func ordered(o orders) func(*mail) { return func(m *mail) { m.orders |= o } }

// mailbox passes messages to a lane. Senders never wait for the lane.
type mailbox struct {
	wake chan struct{} // there is mail

	mu     sync.Mutex
	mail   mail
	closed bool
}

// post adds to the mail. It reports whether the lane will see it.
func (b *mailbox) post(add func(*mail)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	add(&b.mail)
	signal(b.wake)
	return true
}

func (b *mailbox) take() mail {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.mail
	b.mail = mail{}
	return m
}

// close closes the box, unless it contains mail and force is not set.
func (b *mailbox) close(force bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wake) > 0 && !force {
		return false
	}
	b.closed = true
	return true
}

// signal wakes the receiver of c, unless a signal is already pending.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
