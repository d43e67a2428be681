package diagnose

import (
	"slices"
	"strings"

	"claviger/internal/courier"
)

// Cause is the reason for no HTTP answer, as a word for programs and URLs.
type Cause string

// The causes. They never change; others may be added.
const (
	CauseDNS         Cause = "dns"         // the host name does not resolve
	CauseUnreachable Cause = "unreachable" // no connection could be made
	CauseRefused     Cause = "refused"     // the connection was refused
	CauseTLS         Cause = "tls"         // certificate or handshake
	CauseTimeout     Cause = "timeout"     // a connection, but no answer in time
	CauseClosed      Cause = "closed"      // the connection was closed before the answer was complete
	CauseInvalid     Cause = "invalid"     // the answer is not HTTP
	CauseForbidden   Cause = "forbidden"   // the URL must not be called
	CauseProxy       Cause = "proxy"       // the marketplace's own proxy blocked the request
	CauseOther       Cause = "other"
)

// Causes lists all causes.
var Causes = []Cause{
	CauseDNS,
	CauseUnreachable,
	CauseRefused,
	CauseTLS,
	CauseTimeout,
	CauseClosed,
	CauseInvalid,
	CauseForbidden,
	CauseProxy,
	CauseOther,
}

// Known reports whether the cause is one of Causes.
func (c Cause) Known() bool { return slices.Contains(Causes, c) }

// CauseList lists the causes for people.
func CauseList() string {
	list := make([]string, len(Causes))
	for i, c := range Causes {
		list[i] = string(c)
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// causes maps the beginning or end of Explain's texts to causes. Attempts are stored with these
// texts, also by earlier versions: a text that is reworded stays here.
var causes = []struct {
	begins, ends string
	cause        Cause
}{
	{"the host name leads to an address that is not public", "", CauseForbidden},
	{"", ", so it was not called", CauseForbidden},
	{"the host name ", "", CauseDNS},
	{"no connection could be made", "", CauseUnreachable},
	{"the server cannot be reached", "", CauseUnreachable},
	{"the connection was refused", "", CauseRefused},
	{"the server's certificate", "", CauseTLS},
	{"the server does not speak TLS", "", CauseTLS},
	{"the TLS handshake failed", "", CauseTLS},
	{"there was no answer within", "", CauseTimeout},
	{"the answer had begun, but was not complete", "", CauseTimeout},
	{"the server closed the connection", "", CauseClosed},
	{"the answer broke off", "", CauseClosed},
	{"what came back is no HTTP", "", CauseInvalid},
	{courier.ErrLongHeader.Error(), "", CauseInvalid},
	{"the marketplace's proxy", "", CauseProxy},
}

// CauseOf returns the cause of a text of Explain.
func CauseOf(text string) Cause {
	for _, c := range causes {
		if strings.HasPrefix(text, c.begins) && strings.HasSuffix(text, c.ends) {
			return c.cause
		}
	}
	return CauseOther
}
