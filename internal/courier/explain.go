package courier

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
)

// Explain puts into words why there was no HTTP answer, for whoever runs the
// server that was called. It names neither the URL nor an address inside our
// network.
func Explain(err error) string {
	text, _ := explain(err)
	return text
}

// Remedy says what whoever runs the server can do about it, if we know.
func Remedy(err error) string {
	_, remedy := explain(err)
	return remedy
}

func explain(err error) (text, remedy string) {
	for _, known := range []func(error) (text, remedy string){explainRefusal, explainProxy, explainAnswer, explainDNS, explainConnection, explainTLS} {
		if text, remedy = known(err); text != "" {
			return text, remedy
		}
	}
	if isTimeout(err) {
		return "no connection could be made within " + ConnectTimeout.String(),
			"Let our requests through your firewall, and check that the server listens at the address that DNS gives for the host."
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without our own words
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // without the address
	}
	return "the request failed: " + err.Error(), ""
}

// explainRefusal says why we did not send, or gave up.
func explainRefusal(err error) (text, remedy string) {
	switch {
	case errors.Is(err, errPlain), errors.Is(err, errUserInfo), errors.Is(err, errNoHost):
		return err.Error() + ", so it was not called", "Save a URL that begins with https:// and a host name, and has no user name or password in it."
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork), errors.Is(err, ssrf.ErrProhibitedPort):
		return "the host name leads to an address that is not public; only public addresses are called",
			"Use a host that can be reached over the internet; for your own machine, use a tunnel."
	case errors.Is(err, errSlow) && errors.Is(err, errMidway):
		return "the answer had begun, but was not complete within " + Timeout.String(), "Send the whole answer at once, and keep it short."
	case errors.Is(err, errSlow):
		return "there was " + errSlow.Error(), "Answer as soon as the event is stored, and do the work afterwards."
	case errors.Is(err, context.Canceled):
		return "the request was given up", ""
	}
	return "", ""
}

// explainAnswer says what is wrong with an answer that came. It quotes nothing of
// it: this is logged and mailed.
func explainAnswer(err error) (text, remedy string) {
	switch {
	case errors.Is(err, errLongHeader):
		return errLongHeader.Error() + ": more than 64 KiB", "Send fewer or shorter headers, cookies above all."
	case errors.Is(err, errNotHTTP):
		return "what came back is no HTTP/1.1 answer", "Check that the port is the one of your web server."
	case errors.Is(err, errMidway):
		return "the answer broke off before it was complete", "Look into the log of your server: it may have crashed, or announced another Content-Length than it sent."
	}
	return "", ""
}

func explainDNS(err error) (text, remedy string) {
	dns, ok := errors.AsType[*net.DNSError](err)
	switch {
	case !ok:
		return "", ""
	case dns.IsNotFound:
		return "the host name does not exist (DNS has no address for it)", "Check the spelling of the host name; a new one may take some time to be known everywhere."
	default:
		return "the host name could not be looked up (DNS did not answer)", "Check the name servers of the domain."
	}
}

func explainConnection(err error) (text, remedy string) {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused; is the server running on that port?", listen(err)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closed the connection without an answer", "Look into the log of your server: it may have crashed, or a proxy before it cuts connections."
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "the server cannot be reached over the network", "Check that the address which DNS gives for the host is right."
	}
	return "", ""
}

// listen says how a server must listen that refused a connection. Loopback is only
// called where private addresses are allowed, and there it is what was meant.
func listen(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		if to, ok := op.Addr.(*net.TCPAddr); ok && to.IP.IsLoopback() {
			return "Start the server on that port. A service in a container has a localhost of its own: name the host there."
		}
	}
	return "Start the server, and make it listen on the public address and not on localhost alone."
}

// explainTLS says what is wrong with a certificate or a handshake, or nothing.
func explainTLS(err error) (text, remedy string) {
	const certificate = "Install a certificate that browsers trust, with its intermediate certificates, for this host name."
	if cert, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the server's certificate is not valid: " + cert.Err.Error(), certificate
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the server's certificate is for another host", certificate
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS on that port; is it an http server?", "Put TLS before it, or name the port on which it speaks TLS."
	}
	// An alert is wrapped as an error of the network, and what we refuse has no type.
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "remote error" || op.Op == "local error") {
		err = op.Err
	} else if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	if what, ok := strings.CutPrefix(err.Error(), "tls: "); ok {
		return "the TLS handshake failed: " + what, "The server must speak TLS 1.2 or newer, know the host name that the URL names, and ask for no certificate."
	}
	return "", ""
}

func isTimeout(err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}
