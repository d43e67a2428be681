package courier

import (
	"slices"
	"strings"
)

// Cause is why there was no HTTP answer, as a word that programs and addresses use.
type Cause string

// The causes. They never change; others may be added.
const (
	CauseDNS         Cause = "dns"         // the host name leads nowhere
	CauseUnreachable Cause = "unreachable" // no connection could be made
	CauseRefused     Cause = "refused"     // the connection was refused
	CauseTLS         Cause = "tls"         // certificate or handshake
	CauseTimeout     Cause = "timeout"     // a connection, but no answer in time
	CauseClosed      Cause = "closed"      // the connection was closed before the answer was whole
	CauseInvalid     Cause = "invalid"     // what came is no answer
	CauseForbidden   Cause = "forbidden"   // the URL is one that is not called
	CauseProxy       Cause = "proxy"       // the marketplace's own proxy let nothing out
	CauseOther       Cause = "other"
)

// Causes are all of them.
var Causes = []Cause{CauseDNS, CauseUnreachable, CauseRefused, CauseTLS, CauseTimeout, CauseClosed, CauseInvalid, CauseForbidden, CauseProxy, CauseOther}

// Known reports whether the cause is one of Causes.
func (c Cause) Known() bool { return slices.Contains(Causes, c) }

// CauseList lists them for people.
func CauseList() string {
	list := make([]string, len(Causes))
	for i, c := range Causes {
		list[i] = string(c)
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// causes are how the texts of Explain begin, or end. Attempts are stored with these texts,
// those of earlier versions too: one that is worded anew stays here.
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
	{errLongHeader.Error(), "", CauseInvalid},
	{"the marketplace's proxy", "", CauseProxy},
}

// CauseOf returns the cause that a text of Explain says.
func CauseOf(text string) Cause {
	for _, c := range causes {
		if strings.HasPrefix(text, c.begins) && strings.HasSuffix(text, c.ends) {
			return c.cause
		}
	}
	return CauseOther
}
