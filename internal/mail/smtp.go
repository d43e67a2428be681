package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Security is the encryption of the connection to the server.
type Security string

// The securities.
const (
	STARTTLS Security = "starttls" // starts in the clear and must switch to TLS before anything is sent
	TLS      Security = "tls"      // TLS from the first byte
	Plain    Security = "none"     // in the clear: for a server on this machine
)

// SMTP is a transport through a mail server. If the server's answer is lost, the email is sent
// again: the price of not losing one.
type SMTP struct {
	Host           string
	Port           int
	Security       Security // "": STARTTLS
	User, Password string   // "": no authentication
	From           *mail.Address
	Hello          string         // name in HELO; "": this machine's name
	Timeout        time.Duration  // per phase: connecting, greeting, sending; 0: 20 s
	Roots          *x509.CertPool // trusted authorities; nil: the system's
}

// mechanisms lists the supported authentication mechanisms, the better first. Those that would send
// the password in the clear are refused on an unencrypted connection.
var mechanisms = []gomail.SMTPAuthType{
	gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthCramMD5,
}

// Send passes the email to the server.
func (s *SMTP) Send(ctx context.Context, o Outgoing) (again bool, err error) {
	// Everything about the connection ends with the call.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, err := s.client(ctx)
	if err != nil {
		return false, fmt.Errorf("set up the mail client: %w", err)
	}
	m := compose(o, s.From)
	err = client.DialAndSendWithContext(ctx, m)
	if err == nil || m.IsDelivered() {
		// Once the server has accepted the email, a failed QUIT is no reason to send it again.
		return false, nil
	}
	if ctx.Err() != nil {
		return true, fmt.Errorf("the mail server %s took too long: %w", s.address(), context.Cause(ctx))
	}
	return retry(err), s.explain(err, o.To)
}

// Try connects and signs in to the server without sending an email.
func (s *SMTP) Try(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, err := s.client(ctx)
	if err != nil {
		return fmt.Errorf("set up the mail client: %w", err)
	}
	if err := client.DialWithContext(ctx); err != nil {
		return s.explain(err, "")
	}
	return client.Close()
}

// client creates a client for one email.
func (s *SMTP) client(ctx context.Context) (*gomail.Client, error) {
	options := []gomail.Option{
		gomail.WithPort(s.Port), gomail.WithTimeout(s.timeout()),
		gomail.WithoutNoop(), gomail.WithoutRset(),
		gomail.WithTLSConfig(s.tls()),
		gomail.WithDialContextFunc(
			func(_ context.Context, network, _ string) (net.Conn, error) { return s.dial(ctx, network) },
		),
	}
	switch s.Security {
	case TLS, Plain: // as dialled
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	case STARTTLS, "":
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	default:
		return nil, fmt.Errorf("unknown security %q", s.Security)
	}
	if s.Hello != "" {
		options = append(options, gomail.WithHELO(s.Hello))
	}
	if s.User != "" {
		options = append(options, gomail.WithUsername(s.User), gomail.WithPassword(s.Password),
			gomail.WithOpportunisticSMTPAuth(mechanisms...))
	}
	return gomail.NewClient(s.Host, options...)
}

func (s *SMTP) timeout() time.Duration { return cmp.Or(s.Timeout, 20*time.Second) }

func (s *SMTP) tls() *tls.Config {
	return &tls.Config{ServerName: s.Host, RootCAs: s.Roots, MinVersion: tls.VersionTLS12}
}

// dial connects to the server. The connection closes with ctx; the client itself knows only its
// timeout.
func (s *SMTP) dial(ctx context.Context, network string) (net.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, s.timeout())
	defer cancel()
	dialer := net.Dialer{}
	dial := dialer.DialContext
	if s.Security == TLS {
		dial = (&tls.Dialer{NetDialer: &dialer, Config: s.tls()}).DialContext
	}
	conn, err := dial(limited, network, s.address())
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return conn, nil
}

// authenticateFirst is the answer of a server that requires a password, or TLS: a problem of our
// settings and not of the email.
const authenticateFirst = 530

// retry reports whether another attempt may succeed. Only a refusal of this particular email is
// final. An unreachable server, a wrong password or a wrong certificate can be fixed by its
// operator or ours while the email waits.
func retry(err error) bool {
	e, ok := errors.AsType[*gomail.SendError](err)
	return !ok || e.ErrorCode() < 500 || e.ErrorCode() == authenticateFirst
}

// explain describes the server's error. It omits the address, because the text is logged; the
// email's record has the recipient.
func (s *SMTP) explain(err error, to string) error {
	did := "could not be used"
	text := err.Error()
	if e, ok := errors.AsType[*gomail.SendError](err); ok {
		text, _, _ = strings.Cut(e.Error(), ", affected ")
		if e.ErrorCode() != 0 {
			did, text = refused(e.Reason), strings.TrimPrefix(text, e.Reason.String()+": ")
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	if to != "" {
		text = strings.ReplaceAll(text, to, "the recipient")
	}
	return fmt.Errorf("the mail server %s %s: %s", s.address(), did, text)
}

// refused describes a refusal by the server.
func refused(at gomail.SendErrReason) string {
	switch at {
	case gomail.ErrSMTPMailFrom:
		return "refused the sender"
	case gomail.ErrSMTPRcptTo:
		return "refused the recipient"
	default: // everything else concerns the whole email
		return "refused the mail"
	}
}

func (s *SMTP) address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }
