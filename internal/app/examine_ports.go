package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"syscall"
	"time"
)

// portTime is the timeout of a request to an address of this machine.
const portTime = 2 * time.Second

// port is an address on which the service listens.
type port struct {
	setting, address string
	path             string // answered by the service; as JSON with a status, except for profiles
}

// ports checks the addresses on which the service listens: whether the service answers there, they
// are free, or another program has them.
func (e *examination) ports(ctx context.Context) {
	var before []port
	for _, p := range []port{
		{"addr", e.cfg.Addr, "/livez"},
		{"admin-addr", e.cfg.AdminAddr, "/livez"},
		{"pprof-addr", e.cfg.PprofAddr, "/debug/pprof/cmdline"},
	} {
		_, number, err := net.SplitHostPort(p.address)
		if err != nil || number == "0" {
			continue // it is off, or any free port
		}
		e.port(ctx, p, before)
		before = append(before, p)
	}
}

// port checks one address.
func (e *examination) port(ctx context.Context, p port, before []port) {
	for _, other := range before {
		if overlap(p.address, other.address) {
			e.say(p.setting, Failed, "Set "+p.setting+" to another port.",
				"%s is the port of %s, too", p.address, other.setting)
			return
		}
	}
	if answersAt(ctx, p) {
		e.portInUse(p)
		return
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", p.address)
	switch {
	case err == nil:
		_ = l.Close()
		e.say(p.setting, Passed, "", "%s is free, and the service does not run here", p.address)
	case errors.Is(err, syscall.EADDRINUSE):
		e.say(p.setting, Failed,
			"Stop that program (ss -ltnp names it), or set "+p.setting+" to a free port.",
			"another program listens on %s", p.address)
	case errors.Is(err, fs.ErrPermission):
		e.say(p.setting, Failed, "Set "+p.setting+" to a port from 1024 up, with a proxy in front.",
			"this user may not listen on %s", p.address)
	default:
		e.say(p.setting, Failed, "Set "+p.setting+" to an address of this machine, or leave the host out.",
			"nothing can listen on %s: %v", p.address, err)
	}
}

// portInUse reports an address on which the service answers.
func (e *examination) portInUse(p port) {
	if p.setting == "pprof-addr" && !loopback(p.address) {
		e.say(p.setting, Warned, "Set pprof-addr to 127.0.0.1 or off.",
			"others can read profiles at %s, which show what is in memory", p.address)
		return
	}
	e.say(p.setting, Passed, "", "the service answers at %s", p.address)
}

// overlap reports whether two addresses cannot both be listened on. A listener without a host has
// the port on every address.
func overlap(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB {
		return false
	}
	return hostA == hostB || everywhere(hostA) || everywhere(hostB)
}

// everywhere reports whether a listener's host means all addresses.
func everywhere(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// answersAt reports whether this service answers at an address.
func answersAt(ctx context.Context, p port) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+reachable(p.address)+p.path, nil)
	if err != nil {
		return false
	}
	transport := &http.Transport{DisableKeepAlives: true} // never through a proxy
	resp, err := (&http.Client{Transport: transport, Timeout: portTime}).Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if p.setting == "pprof-addr" {
		return resp.StatusCode == http.StatusOK && resp.Header.Get("X-Content-Type-Options") == "nosniff"
	}
	var answer struct{ Status string }
	return json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&answer) == nil && answer.Status != ""
}
