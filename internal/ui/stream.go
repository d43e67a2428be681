package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// Message is one server-sent event.
type Message struct {
	ID    string // position of the page, which sends it as Last-Event-ID when it reconnects; "": none
	Event string // triggers this event at the stream's element; "": Data is swapped into the page
	Data  string // HTML for the page; parts with hx-swap-oob go to other elements
}

// Events that every stream may send.
const (
	eventClose  = "close"  // the end: the page does not reconnect
	eventReload = "reload" // the page missed too much: app.js offers a reload
)

// Reload returns the message for a page that missed too much to catch up.
func Reload() Message { return Message{Event: eventReload} }

// ErrOtherAccess is returned by Check if the person may still see the page, but with other rights
// than before. The page offers a reload and reconnects its stream.
var ErrOtherAccess = errors.New("the person has other access than when the stream began")

// Stream describes the messages to one page.
type Stream struct {
	Person  int64                                        // owner of the page; limits the number of open streams
	Check   func(ctx context.Context) error              // error: the person may no longer see the page; ends it
	Changed <-chan struct{}                              // receives when Read may have messages
	Read    func(ctx context.Context) ([]Message, error) // messages since the last call; also called at the start
	Recheck <-chan struct{}                              // receives when Check may have another result; nil: never
}

// Streams has the open streams of a node. The zero value is ready for use.
type Streams struct {
	PerPerson int           // maximum of open streams; 0 is 16
	Comment   time.Duration // interval of keep-alive comments; 0 is 15 s
	Recheck   time.Duration // interval of checks without a message; 0 is 30 s
	Write     time.Duration // timeout of one write; 0 is 10 s

	open wire.Running[int64] // by person
}

// Serve sends a stream until the page is closed, the person may no longer see it, or Close is
// called. It checks access again before each message. It never redirects. A person rejected later
// gets the event "close", so that the page does not reconnect.
func (s *Streams) Serve(w http.ResponseWriter, r *http.Request, st Stream) error {
	ended, ok := s.open.Enter(st.Person, cmp.Or(s.PerPerson, 16))
	if !ok {
		return tooManyStreams()
	}
	defer s.open.Leave(st.Person)
	wire.RequestLogOf(r.Context()).Stream = true
	ctx, cancel := context.WithCancel(wire.Unbounded(r.Context()))
	defer cancel()
	out := &streamWriter{w: w, control: http.NewResponseController(w), timeout: cmp.Or(s.Write, 10*time.Second)}
	if err := out.begin(); err != nil {
		return streamEnd(r, err)
	}
	return streamEnd(r, s.run(ctx, out, st, ended))
}

// run sends messages, comments and checks until one of them ends the stream.
func (s *Streams) run(ctx context.Context, out *streamWriter, st Stream, ended <-chan struct{}) error {
	comment := time.NewTicker(cmp.Or(s.Comment, 15*time.Second))
	recheck := time.NewTicker(cmp.Or(s.Recheck, 30*time.Second))
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

// send checks access and sends new messages.
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

// oneLine removes line breaks from a value.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ", "\x00", "")

// append writes the message in the format of server-sent events. Ids and events have no line
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

func tooManyStreams() error {
	f := fault.New(
		fault.Throttled,
		codeTooManyStreams,
		"You have too many pages open that follow what happens. Close some of them.",
	)
	f.After = time.Minute
	return f
}

// Close ends all streams, and all later ones. Their pages reconnect to another node, or to this one
// after its restart.
func (s *Streams) Close() { s.open.Close() }

// streamEnd records the end of a stream. A closed page is not an error.
func streamEnd(r *http.Request, err error) error {
	if err != nil && errors.Is(wire.Unbounded(r.Context()).Err(), context.Canceled) {
		wire.RequestLogOf(r.Context()).Gone = true
		return nil
	}
	return err
}

// streamWriter writes a stream. It cuts off a page that does not read.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// begin sends the header. It must reach the browser immediately, so proxies are told not to buffer.
func (o *streamWriter) begin() error {
	// A stream outlives the read timeout of a request. A writer without deadlines, as in tests, has
	// no slow client.
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

// refuse sends the close event to a person who may no longer see the page, and the reload event to
// one with other rights. If the check itself failed, the stream ends without either, and the page
// reconnects.
func (o *streamWriter) refuse(err error) error {
	if unsure, ok := errors.AsType[interface {
		error
		Unavailable() bool
	}](err); ok && unsure.Unavailable() || errors.Is(err, context.Canceled) || errors.Is(
		err, context.DeadlineExceeded,
	) {
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
