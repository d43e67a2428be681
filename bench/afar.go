package main

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// afar opens a proxy to a PostgreSQL server that adds latency in both directions, until it is
// closed.
func afar(ctx context.Context, at string, by time.Duration) (string, io.Closer, error) {
	u, err := url.Parse(at)
	if err != nil {
		return "", nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	q := u.Query()
	network, address := "tcp", u.Host
	if folder := q.Get("host"); strings.HasPrefix(folder, "/") {
		network, address = "unix", filepath.Join(folder, ".s.PGSQL."+cmp.Or(q.Get("port"), u.Port(), "5432"))
	}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil {
				_ = near.Close()
				continue
			}
			go carry(far, near, by)
			go carry(near, far, by)
		}
	}()
	q.Del("host")
	q.Del("port")
	u.RawQuery, u.Host = q.Encode(), l.Addr().String()
	return u.String(), l, nil
}

// parcel is the data of one read, with its arrival time.
type parcel struct {
	what []byte
	at   time.Time
}

// carry copies data from one side to the other, each piece delayed, while later ones are already on
// their way.
func carry(to, from net.Conn, takes time.Duration) {
	way := make(chan parcel, 1024)
	go func() {
		defer to.Close() //nolint:errcheck // it ends with the other side
		for p := range way {
			time.Sleep(time.Until(p.at))
			if _, err := to.Write(p.what); err != nil {
				_ = from.Close() // stops the sender
			}
		}
	}()
	defer close(way)
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			way <- parcel{append([]byte(nil), b[:n]...), time.Now().Add(takes)}
		}
		if err != nil {
			return
		}
	}
}
