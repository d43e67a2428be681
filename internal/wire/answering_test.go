package wire_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"claviger/internal/paging"
	"claviger/internal/wire"
)

// slowReader is a client that reads its answer on command.
type slowReader struct {
	*httptest.ResponseRecorder
	read chan struct{}
	done chan struct{} // closed when it was answered
}

func (s *slowReader) Write(b []byte) (int, error) {
	<-s.read
	return s.ResponseRecorder.Write(b)
}

// shop is a route table. A header names the caller, and answers have the requested size. Reading
// blocks until a value is sent to read.
type shop struct {
	*wire.Mux
	readers, bytes *wire.Share
	read           chan struct{}
}

func newShop(readers, size int64) *shop {
	s := &shop{readers: &wire.Share{Total: readers}, bytes: &wire.Share{Total: size}, read: make(chan struct{})}
	auth := &wire.AuthRoutes[string]{
		Authenticate: func(r *http.Request) (string, error) { return r.Header.Get("Caller"), nil },
		Name:         func(who string) string { return who },
		Readers:      s.readers, Bytes: s.bytes,
	}
	handle := func(w http.ResponseWriter, r *http.Request, _ string) error {
		<-s.read
		n, _ := strconv.Atoi(r.URL.Query().Get("size"))
		wire.PageHeaders(w, r, paging.First(), 1, false)
		return wire.AppendTagged(w, r, "", func(b []byte) []byte { return append(b, bytes.Repeat([]byte("x"), n)...) })
	}
	s.Mux = wire.NewMux(auth.RouteWithQuery("GET", "/list", handle), auth.RouteWithQuery("POST", "/list", handle))
	return s
}

// ask sends a request and returns its client.
func (s *shop) ask(method, caller string, size int) *slowReader {
	c := &slowReader{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	r := httptest.NewRequestWithContext(context.Background(), method, "/list?size="+strconv.Itoa(size), http.NoBody)
	r.Header.Set("Caller", caller)
	go func() {
		defer close(c.done)
		s.ServeHTTP(c, r)
	}()
	synctest.Wait()
	return c
}

// finish lets one admitted caller finish reading.
func (s *shop) finish() {
	s.read <- struct{}{}
	synctest.Wait()
}

// TestReaderIsGivenBackBeforeTheAnswerIsSent: with one reader, and clients that do not read their
// answers, others are still served.
func TestReaderIsGivenBackBeforeTheAnswerIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(1, 1<<20)
		first := s.ask("GET", "a", 10)
		second := s.ask("GET", "b", 10) // waits for the reader
		if n := most(s.readers, "c"); n != 0 {
			t.Fatalf("%d readers are free while one reads", n)
		}
		s.finish()
		s.finish()
		if first.Code != 200 || second.Code != 200 || first.Body.Len() != 0 {
			t.Errorf("answered %d and %d", first.Code, second.Code)
		}
		if n := most(s.readers, "c"); n != 1 {
			t.Errorf("%d readers are free while two clients read, want 1", n)
		}
		close(first.read)
		close(second.read)
		synctest.Wait()
		if first.Body.Len() != 10 || second.Body.Len() != 10 {
			t.Errorf("answered %q and %q", first.Body, second.Body)
		}
	})
}

// TestBytesAreHeldUntilTheyAreSent: a caller may have one large answer in transit. Of two
// concurrent ones the second is refused; another caller's is sent.
func TestBytesAreHeldUntilTheyAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const large = 400 << 10
		s := newShop(10, 1<<20)
		first, second, other := s.ask("GET", "a", large), s.ask("GET", "a", large), s.ask("GET", "b", 50<<10)
		for range 3 {
			s.finish()
		}
		close(second.read)
		synctest.Wait()
		if first.Code != 200 || other.Code != 200 {
			t.Errorf("answered %d, %d", first.Code, other.Code)
		}
		if second.Code != 429 || second.Header().Get("Retry-After") != "1" || !strings.Contains(second.Body.String(), `"too_many_at_once"`) ||
			second.Header().Get("Link") != "" || second.Header().Get("X-Total-Count") != "" ||
			second.Header().Get("ETag") != "" || second.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("a second large answer: %d %v %s", second.Code, second.Header(), second.Body)
		}
		close(first.read)
		close(other.read)
		synctest.Wait()
		third := s.ask("GET", "a", large)
		s.finish()
		if third.Code != 200 {
			t.Errorf("after the first was sent: %d", third.Code)
		}
		close(third.read)
	})
}

// TestLongAnswersWaitBeforeTheyAreRead: a caller whose last answer was long waits before reading
// the next if its share is too small.
func TestLongAnswersWaitBeforeTheyAreRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const large = 400 << 10
		s := newShop(10, 1<<20)
		unread := s.ask("GET", "a", large)
		s.finish()
		second := s.ask("GET", "a", large)
		select {
		case s.read <- struct{}{}:
			t.Error("it reads more than its share")
		default:
		}
		close(second.read)
		<-second.done // its patience has run out
		if second.Code != 429 {
			t.Errorf("the second is answered %d", second.Code)
		}
		third := s.ask("GET", "a", 10) // waits, too: its size is not known yet
		close(unread.read)
		s.finish()
		close(third.read)
		synctest.Wait()
		if third.Code != 200 {
			t.Errorf("the third is answered %d", third.Code)
		}
		if n := most(s.bytes, "b"); n != 1<<19 {
			t.Errorf("in the end there are %d bytes for somebody else, want %d", n, 1<<19)
		}
	})
}

// TestBytesOfOthersAreNoFaultOfTheCaller: a caller that holds nothing while all is used is told to
// come again.
func TestBytesOfOthersAreNoFaultOfTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(10, 1<<20)
		if err := s.bytes.Acquire(t.Context(), "a", 1<<20); err != nil {
			t.Fatal(err)
		}
		c := s.ask("GET", "b", 10)
		close(c.read)
		<-c.done // its patience has run out
		if c.Code != 503 || c.Header().Get("Retry-After") == "" || !strings.Contains(c.Body.String(), `"unavailable"`) {
			t.Errorf("answered %d %v %s", c.Code, c.Header(), c.Body)
		}
		post := s.ask("POST", "b", 10)
		close(post.read)
		s.finish()
		if post.Code != 200 {
			t.Errorf("what is not read only is answered %d", post.Code)
		}
	})
}
