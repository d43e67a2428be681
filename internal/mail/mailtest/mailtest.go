// Package mailtest provides a mail server for a test, on this machine and inside the process: it
// accepts or refuses emails as the test says, and shows those that arrived.
package mailtest

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http/httptest"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/jhillyerd/enmime/v2"

	"claviger/internal/mail"
)

// From is the sender of the transports of Server.SMTP.
var From = &netmail.Address{Name: "Acme Licensing", Address: "licenses@example.com"}

// Options configures a server; the zero value accepts everything, in the clear.
type Options struct {
	Security       mail.Security // "": none
	User, Password string        // required credentials; "": none
	// Answer, if set, is called at each step of an email ("mail", "rcpt", "data"); an error refuses
	// it. See Refuse.
	Answer func(step, address string) error
	// Hangup abruptly closes the connection after an email was accepted.
	Hangup bool
}

// Refuse returns an answer with a code, such as 451 or 550.
func Refuse(code int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 1, 1}, Message: text}
}

// Mail is an email that arrived.
type Mail struct {
	From, To string // of the envelope
	User     string // authenticated sender
	TLS      bool
	Raw      string // as received
	*enmime.Envelope
}

// Server is a mail server.
type Server struct {
	Host  string
	Port  int
	Roots *x509.CertPool

	options Options
	server  *smtp.Server

	lock    sync.Mutex
	arrived []Mail
	news    chan struct{} // closed and replaced with each email
}

// Start starts a server that ends with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := &Server{options: o, news: make(chan struct{})}
	s.server = smtp.NewServer(smtp.BackendFunc(s.session))
	s.server.Domain = "mail.test"
	s.server.AllowInsecureAuth = o.Security == mail.Plain || o.Security == ""
	s.server.EnableSMTPUTF8 = true
	s.server.ErrorLog = log.New(io.Discard, "", 0)
	config := s.certify(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().(*net.TCPAddr)
	s.Host = at.IP.String()
	s.Port = at.Port
	switch o.Security {
	case mail.TLS:
		listener = tls.NewListener(listener, config)
	case mail.STARTTLS:
		s.server.TLSConfig = config
	case mail.Plain, "":
	}
	done := make(chan error, 1)
	go func() { done <- s.server.Serve(listener) }()
	t.Cleanup(func() {
		// The server may not know its listener yet.
		_ = errors.Join(s.server.Close(), listener.Close())
		if err := <-done; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("the mail server: %v", err)
		}
	})
	return s
}

// certify borrows the certificate that net/http/httptest has for this machine.
func (s *Server) certify(t testing.TB) *tls.Config {
	t.Helper()
	lender := httptest.NewTLSServer(nil)
	defer lender.Close()
	s.Roots = x509.NewCertPool()
	s.Roots.AddCert(lender.Certificate())
	return &tls.Config{Certificates: lender.TLS.Certificates, MinVersion: tls.VersionTLS12}
}

// SMTP returns a transport to the server.
func (s *Server) SMTP() *mail.SMTP {
	security := s.options.Security
	if security == "" {
		security = mail.Plain
	}
	return &mail.SMTP{
		Host: s.Host, Port: s.Port, Security: security, Roots: s.Roots,
		User: s.options.User, Password: s.options.Password, From: From,
	}
}

// Mails returns the emails that have arrived so far.
func (s *Server) Mails() []Mail {
	s.lock.Lock()
	defer s.lock.Unlock()
	return append([]Mail(nil), s.arrived...)
}

// Wait returns the emails once n have arrived.
func (s *Server) Wait(t testing.TB, n int) []Mail {
	t.Helper()
	for {
		s.lock.Lock()
		got := append([]Mail(nil), s.arrived...)
		news := s.news
		s.lock.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-news:
		case <-t.Context().Done():
			t.Fatalf("%d mails arrived, want %d", len(got), n)
		}
	}
}

func (s *Server) take(m Mail) error {
	var err error
	if m.Envelope, err = enmime.ReadEnvelope(strings.NewReader(m.Raw)); err != nil {
		return Refuse(554, "that is no mail: "+err.Error())
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.arrived = append(s.arrived, m)
	close(s.news)
	s.news = make(chan struct{})
	return nil
}

func (s *Server) session(c *smtp.Conn) (smtp.Session, error) {
	_, secure := c.TLSConnectionState()
	return &session{Server: s, conn: c, mail: Mail{TLS: secure}}, nil
}

// session is one connection.
type session struct {
	*Server
	conn *smtp.Conn
	mail Mail
}

func (s *session) ask(step, address string) error {
	if s.options.User != "" && s.mail.User == "" {
		return Refuse(530, "authentication required")
	}
	if s.options.Answer == nil {
		return nil
	}
	return s.options.Answer(step, address)
}

// AuthMechanisms implements smtp.AuthSession.
func (s *session) AuthMechanisms() []string {
	if s.options.User == "" {
		return nil
	}
	return []string{sasl.Plain}
}

// Auth implements smtp.AuthSession.
func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != s.options.User || password != s.options.Password {
			return smtp.ErrAuthFailed
		}
		s.mail.User = user
		return nil
	}), nil
}

// Mail implements smtp.Session.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.mail.From = from
	return s.ask("mail", from)
}

// Rcpt implements smtp.Session.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mail.To = to
	return s.ask("rcpt", to)
}

// Data implements smtp.Session.
func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("read the mail: %w", err)
	}
	s.mail.Raw = string(raw)
	if err := s.ask("data", s.mail.To); err != nil {
		return err
	}
	return s.take(s.mail)
}

// Reset implements smtp.Session. The server calls it after its answer.
func (s *session) Reset() {
	if s.options.Hangup && s.mail.Raw != "" {
		_ = s.conn.Conn().Close() // as requested
	}
}

// Logout implements smtp.Session.
func (s *session) Logout() error { return nil }
