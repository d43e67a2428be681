package courier

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"code.dny.dev/ssrf"
)

// Explain puts into words why there was no HTTP answer, for whoever runs the
// server that was called. It names neither the URL nor an address inside our
// network.
func Explain(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return "the host name does not exist (DNS has no address for it)"
		}
		return "the host name could not be looked up (DNS did not answer)"
	}
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork), errors.Is(err, ssrf.ErrProhibitedPort):
		return "the host name leads to an address that is not public; only public addresses are called"
	case errors.Is(err, errSlow):
		return "there was " + errSlow.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused; is the server running on that port?"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closed the connection without an answer"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "the server cannot be reached over the network"
	}
	if text := explainTLS(err); text != "" {
		return text
	}
	if isTimeout(err) {
		return "no connection could be made within " + ConnectTimeout.String()
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // without the address
	}
	return "the request failed: " + err.Error()
}

// explainTLS says what is wrong with a certificate or a handshake, or nothing.
func explainTLS(err error) string {
	if cert, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the server's certificate is not valid: " + cert.Err.Error()
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the server's certificate is for another host"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS on that port; is it an http server?"
	}
	if alert, ok := errors.AsType[tls.AlertError](err); ok {
		return "the TLS handshake failed: " + alert.Error()
	}
	return ""
}

func isTimeout(err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	n, ok := errors.AsType[net.Error](err)
	return ok && n.Timeout()
}
