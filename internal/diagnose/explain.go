package diagnose

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"

	"claviger/internal/courier"
)

// Explain describes why there was no HTTP answer, for people who run the called server. It contains
// neither the URL nor an address inside our network. remedy is advice, "" if there is none.
func Explain(err error) (text, remedy string) {
	for _, known := range []func(error) (text, remedy string){
		explainRefusal, explainProxy, explainAnswer, explainDNS, explainConnection, explainTLS,
	} {
		if text, remedy = known(err); text != "" {
			return text, remedy
		}
	}
	if courier.IsTimeout(err) {
		return "no connection could be made within " + courier.ConnectTimeout.String(),
			"Let our requests through your firewall, and check that the server listens at the address that DNS " +
				"gives for the host."
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without our own prefix
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // without the address
	}
	return "the request failed: " + err.Error(), ""
}

// explainRefusal describes why we did not send, or gave up.
func explainRefusal(err error) (text, remedy string) {
	switch {
	case errors.As(err, new(courier.URLError)):
		return err.Error() + ", so it was not called", "Save a URL that begins with https:// and a host name, and " +
			"has no user name or password in it."
	case errors.Is(err, ssrf.ErrProhibitedIP),
		errors.Is(err, ssrf.ErrProhibitedNetwork),
		errors.Is(err, ssrf.ErrProhibitedPort):
		return "the host name leads to an address that is not public; only public addresses are called",
			"Use a host that can be reached over the internet; for your own machine, use a tunnel."
	case errors.Is(err, courier.ErrSlow) && errors.Is(err, courier.ErrMidway):
		return "the answer had begun, but was not complete within " + courier.Timeout.String(),
			"Send the whole answer at " +
				"once, and keep it short."
	case errors.Is(err, courier.ErrSlow):
		return "there was " + courier.ErrSlow.Error(),
			"Answer as soon as the event is stored, and do the work afterwards."
	case errors.Is(err, context.Canceled):
		return "the request was given up", ""
	}
	return "", ""
}

// explainAnswer describes a broken answer. It quotes nothing from it, because the text is logged
// and emailed.
func explainAnswer(err error) (text, remedy string) {
	switch {
	case errors.Is(err, courier.ErrLongHeader):
		return courier.ErrLongHeader.Error() + ": more than 64 KiB", "Send fewer or shorter headers, cookies above all."
	case errors.Is(err, courier.ErrNotHTTP):
		return "what came back is no HTTP/1.1 answer", "Check that the port is the one of your web server."
	case errors.Is(err, courier.ErrMidway):
		return "the answer broke off before it was complete", "Look into the log of your server: it may have " +
			"crashed, or announced another Content-Length than it sent."
	}
	return "", ""
}

func explainDNS(err error) (text, remedy string) {
	dns, ok := errors.AsType[*net.DNSError](err)
	switch {
	case !ok:
		return "", ""
	case dns.IsNotFound:
		return "the host name does not exist (DNS has no address for it)", "Check the spelling of the host name; a " +
			"new one may take some time to be known everywhere."
	default:
		return "the host name could not be looked up (DNS did not answer)", "Check the name servers of the domain."
	}
}

func explainConnection(err error) (text, remedy string) {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused; is the server running on that port?", listen(err)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closed the connection without an answer", "Look into the log of your server: it may have " +
			"crashed, or a proxy before it cuts connections."
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "the server cannot be reached over the network", "Check that the address which DNS gives for the " +
			"host is right."
	}
	return "", ""
}

// listen tells people how a server that refused a connection must listen. Loopback is called only
// if private addresses are allowed, and then it was intended.
func listen(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		if to, ok := op.Addr.(*net.TCPAddr); ok && to.IP.IsLoopback() {
			return "Start the server on that port. A service in a container has a localhost of its own: name the " +
				"host there."
		}
	}
	return "Start the server, and make it listen on the public address and not on localhost alone."
}

// explainTLS describes a certificate or handshake error, or returns "".
func explainTLS(err error) (text, remedy string) {
	const certificate = "Install a certificate that browsers trust, with its intermediate certificates, for this " +
		"host name."
	if cert, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the server's certificate is not valid: " + cert.Err.Error(), certificate
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the server's certificate is for another host", certificate
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS on that port; is it an http server?", "Put TLS before it, or name the " +
			"port on which it speaks TLS."
	}
	// An alert is wrapped as a network error, and our own refusals have no type.
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "remote error" || op.Op == "local error") {
		err = op.Err
	} else if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	if what, ok := strings.CutPrefix(err.Error(), "tls: "); ok {
		return "the TLS handshake failed: " + what, "The server must speak TLS 1.2 or newer, know the host name " +
			"that the URL names, and ask for no certificate."
	}
	return "", ""
}

// explainProxy describes a failure of the proxy. Its readers do not run the proxy, and the error
// contains internal addresses.
func explainProxy(err error) (text, remedy string) {
	if !errors.Is(err, courier.ErrProxy) {
		return "", ""
	}
	status, answered := errors.AsType[courier.ProxyStatus](err)
	switch {
	case answered && (status == http.StatusBadGateway || status == http.StatusServiceUnavailable ||
		status == http.StatusGatewayTimeout):
		return fmt.Sprintf(
				"no connection could be made: the marketplace's proxy did not reach the server (it answered %d)",
				int(status),
			),
			"Check that the server listens at the address that DNS gives for the host, and lets our requests " +
				"through its firewall."
	case answered && status == http.StatusProxyAuthRequired:
		return "the marketplace's proxy did not let the request out: it does not know the user name and password (407)",
			"The marketplace has to mend this: egress-proxy must carry the user name and password of the proxy."
	case answered:
		return fmt.Sprintf("the marketplace's proxy did not let the request out (it answered %d)", int(status)),
			"The marketplace has to mend this: its proxy must allow CONNECT to this address."
	}
	return "the marketplace's proxy could not be reached",
		"The marketplace has to mend this: its proxy must run where egress-proxy says."
}
