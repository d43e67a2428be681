package afar

import (
	"io"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Server makes a way to a PostgreSQL server on which everything takes longer, in
// either direction, until it is closed.
func Server(at string, by time.Duration) (string, io.Closer, error) {
	config, err := pgconn.ParseConfig(at)
	if err != nil {
		return "", nil, err
	}
	u, err := url.Parse(at)
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial(network, address)
			if err != nil {
				_ = near.Close()
				continue
			}
			go carry(far, near, by)
			go carry(near, far, by)
		}
	}()
	q := u.Query()
	q.Del("host")
	q.Del("port")
	u.RawQuery, u.Host = q.Encode(), "127.0.0.1:"+strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	return u.String(), l, nil
}

// parcel is what was read at once, and when it arrives.
type parcel struct {
	what []byte
	at   time.Time
}

// carry carries what comes from one side to the other, each piece for so long,
// while later ones set out.
func carry(to, from net.Conn, takes time.Duration) {
	way := make(chan parcel, 1024)
	go func() {
		defer to.Close() //nolint:errcheck // it ends with the other side
		for p := range way {
			time.Sleep(time.Until(p.at))
			if _, err := to.Write(p.what); err != nil {
				_ = from.Close() // so that no more comes
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
