package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// Message is one server-sent event.
type Message struct {
	ID    string // what the page knows with it: sent back as Last-Event-ID by a page that comes back; "" for none
	Event string // triggers the event of that name at the stream's element; "": Data is swapped into the page
	Data  string // HTML for the page; parts with hx-swap-oob go to other elements
}

// The events that every stream may send.
const (
	eventClose  = "close"  // there is nothing more to come: the page does not come back
	eventReload = "reload" // the page missed too much: app.js offers to load it again
)

// Reload is the message to a page that missed more than it can catch up with.
func Reload() Message { return Message{Event: eventReload} }

// ErrOtherAccess is the error of a Check that finds that the person may still see the
// page, but may do more or less there than when the stream began. The page is told to be
// loaded again, and its stream comes back by itself.
var ErrOtherAccess = errors.New("the person has other access than when the stream began")

// Stream is what one page is sent.
type Stream struct {
	Person  int64                                        // whose page it is: bounds how many are open
	Check   func(ctx context.Context) error              // whether the person may still see it; an error ends the stream
	Changed <-chan struct{}                              // receives when Read may have something
	Read    func(ctx context.Context) ([]Message, error) // what is new since the last call; called once at the start, too
	Recheck <-chan struct{}                              // receives when Check may have another answer; nil: never
}

// Streams are the open streams of a node. The zero value is ready for use.
type Streams struct {
	PerPerson int           // how many a person may have open; 0 is 16
	Comment   time.Duration // between two signs of life; 0 is 15 s
	Recheck   time.Duration // between two checks without a message; 0 is 30 s
	Write     time.Duration // for one write; 0 is 10 s

	mu    sync.Mutex
	open  map[int64]int
	ended chan struct{} // closed by Close
}

// Serve sends a stream until its page leaves, the person may no longer see it, or Close
// is called. Before each message it checks again that the person may see it. It never
// redirects; whoever is refused later gets the event "close", so that the page does not
// come back.
func (s *Streams) Serve(w http.ResponseWriter, r *http.Request, st Stream) error {
	ended, err := s.enter(st.Person)
	if err != nil {
		return err
	}
	defer s.leave(st.Person)
	wire.RequestLogOf(r.Context()).Stream = true
	ctx, cancel := context.WithCancel(wire.Unbounded(r.Context()))
	defer cancel()
	out := &streamWriter{w: w, control: http.NewResponseController(w), timeout: cmp.Or(s.Write, 10*time.Second)}
	if err := out.begin(); err != nil {
		return streamEnd(r, err)
	}
	return streamEnd(r, s.run(ctx, out, st, ended))
}

// run sends messages, comments and checks until one of them says that it is over.
func (s *Streams) run(ctx context.Context, out *streamWriter, st Stream, ended <-chan struct{}) error {
	comment, recheck := time.NewTicker(cmp.Or(s.Comment, 15*time.Second)), time.NewTicker(cmp.Or(s.Recheck, 30*time.Second))
	defer comment.Stop()
	defer recheck.Stop()
	read := true
	for {
		if read {
			if over, err := s.send(ctx, out, st); over || err != nil {
				return err
			}
		}
		read = false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return nil
		case <-st.Changed:
			read = true
		case <-recheck.C:
			if err := st.Check(ctx); err != nil {
				return out.refuse(err)
			}
		case <-st.Recheck:
			if err := st.Check(ctx); err != nil {
				return out.refuse(err)
			}
		case <-comment.C:
			if err := out.write(": still here\n\n"); err != nil {
				return err
			}
		}
	}
}

// send checks the access and sends what is new.
func (s *Streams) send(ctx context.Context, out *streamWriter, st Stream) (over bool, err error) {
	messages, err := st.Read(ctx)
	if err != nil || len(messages) == 0 {
		return false, err
	}
	if err := st.Check(ctx); err != nil {
		return true, out.refuse(err)
	}
	var b strings.Builder
	for _, m := range messages {
		m.append(&b)
	}
	return false, out.write(b.String())
}

// oneLine takes out of a value what would end its line.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ", "\x00", "")

// append writes the message as the format wants it. Neither ids nor events have line
// breaks; data is sent line by line.
func (m Message) append(b *strings.Builder) {
	line := func(name, value string) {
		b.WriteString(name)
		b.WriteString(": ")
		_, _ = oneLine.WriteString(b, value) // a Builder does not fail
		b.WriteString("\n")
	}
	if m.ID != "" {
		line("id", m.ID)
	}
	if m.Event != "" {
		line("event", m.Event)
	}
	for part := range strings.Lines(m.Data) {
		line("data", strings.TrimRight(part, "\r\n"))
	}
	if m.Data == "" && m.Event != "" {
		line("data", "")
	}
	b.WriteString("\n")
}

// enter counts a stream of a person and returns what ends it.
func (s *Streams) enter(person int64) (<-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	if s.open[person] >= cmp.Or(s.PerPerson, 16) {
		f := fault.New(fault.Throttled, codeTooManyStreams, "You have too many pages open that follow what happens. Close some of them.")
		f.After = time.Minute
		return nil, f
	}
	s.open[person]++
	return s.ended, nil
}

func (s *Streams) leave(person int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[person]--; s.open[person] == 0 {
		delete(s.open, person)
	}
}

func (s *Streams) init() {
	if s.open == nil {
		s.open, s.ended = make(map[int64]int), make(chan struct{})
	}
}

// Close ends all streams, now and from now on: their pages come back by themselves, to
// another node or to this one when it runs again.
func (s *Streams) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	select {
	case <-s.ended:
	default:
		close(s.ended)
	}
}

// streamEnd records how a stream ended. A page that leaves is not an error.
func streamEnd(r *http.Request, err error) error {
	if err != nil && errors.Is(wire.Unbounded(r.Context()).Err(), context.Canceled) {
		wire.RequestLogOf(r.Context()).Gone = true
		return nil
	}
	return err
}

// streamWriter writes a stream. A page that does not read is cut off.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// begin sends the header. It must reach the browser at once, so proxies are told not to
// buffer the stream.
func (o *streamWriter) begin() error {
	// A stream lives longer than a request may take to be read. A writer without
	// deadlines, as in tests, has no client that is slow.
	_ = o.control.SetReadDeadline(time.Time{})
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	return o.write(": welcome\n\n")
}

func (o *streamWriter) write(text string) error {
	_ = o.control.SetWriteDeadline(time.Now().Add(o.timeout))
	if _, err := o.w.Write([]byte(text)); err != nil {
		return fmt.Errorf("send to a stream: %w", err)
	}
	if err := o.control.Flush(); err != nil {
		return fmt.Errorf("send to a stream: %w", err)
	}
	return nil
}

// refuse sends the closing event to a person who may no longer see the page, and the
// reload event to one who has other access. Where it could not be checked, the stream
// ends without either, and the page comes back.
func (o *streamWriter) refuse(err error) error {
	if unsure, ok := errors.AsType[interface {
		error
		Unavailable() bool
	}](err); ok && unsure.Unavailable() || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var b strings.Builder
	m := Message{Event: eventClose}
	if errors.Is(err, ErrOtherAccess) {
		m = Reload()
	}
	m.append(&b)
	return o.write(b.String())
}
