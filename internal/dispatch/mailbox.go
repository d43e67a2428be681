package dispatch

import (
	"sync"

	"claviger/internal/webhook"
)

// mail is what a lane is told, gathered since it last looked.
type mail struct {
	fresh    []*webhook.Item // new deliveries, each the first open one of its license
	hints    []int64         // licenses of which something may be due
	ended    []ended         // requests
	recorded []recorded      // answers
	found    *findings       // what a search brought
	changed  int64           // as it stands in the row of the endpoint
	due      bool            // something is due
	reload   bool            // the endpoint was changed
	cut      bool            // abort all requests
	stop     bool            // begin nothing more, and end
	leave    bool            // and do not wait for answers to be recorded
}

// mailbox is how a lane is told things. Nobody ever waits for a lane.
type mailbox struct {
	wake chan struct{} // something is in it

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

// close ends the box, unless there is mail in it and force is not set.
func (b *mailbox) close(force bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wake) > 0 && !force {
		return false
	}
	b.closed = true
	return true
}

// signal says that there is something to see to, unless that was said already.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
