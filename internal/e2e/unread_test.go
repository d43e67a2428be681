package e2e_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"claviger/internal/sqldb"
)

// seller is a partner with a plan.
type seller struct {
	ID     int64  `json:"id"`
	APIKey string `json:"api_key"`
}

func (h *harness) seller(t *testing.T, name string) seller {
	t.Helper()
	s := read[seller](t, h.operator.must(t, 201, "POST", "/operator/v1/partners", object{"name": name, "external_id": name}))
	h.operator.must(t, 201, "PUT", fmt.Sprintf("/operator/v1/partners/%d/plans/1", s.ID), object{"name": "One", "price_cents": 100, "currency": "EUR"})
	return s
}

// askWithoutReading requests a page over a new connection and reads only the status of the answer
// until the test ends.
func (h *harness) askWithoutReading(t *testing.T, path, key string) (int, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(t.Context(), "tcp", h.Addr())
	if err != nil {
		return 0, err
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		return 0, err
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, h.Addr(), key); err != nil {
		return 0, err
	}
	var status int
	line, err := bufio.NewReaderSize(conn, 64).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscanf(line, "HTTP/1.1 %d", &status)
	}
	return status, err
}

// TestUnreadAnswersOfOnePartner: a partner requests its largest page again and again and reads
// none. After some answers it is told to wait; another partner is served.
func TestUnreadAnswersOfOnePartner(t *testing.T) {
	h := start(t, nil)
	slow, other := h.seller(t, "slow"), h.seller(t, "other")
	h.operator.must(t, 201, "POST", "/operator/v1/purchases", object{"partner_id": slow.ID, "tier": 1, "quantity": 100, "external_id": "all"})
	err := h.Services().DB.Write(t.Context(), func(tx *sqldb.Tx) error {
		body := strings.Repeat("x", 1<<10)
		for range 10 {
			tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url, success, created_at, updated_at)
				SELECT id, $2, 500, $2, 0, $2, $3, created_at, created_at FROM events WHERE partner_id = $1`, slow.ID, body, false)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	const asked = 30 // of more than 3 MiB each; a single partner may hold 16 MiB
	statuses := make(chan int, asked)
	for range asked {
		go func() {
			status, err := h.askWithoutReading(t, "/v2/licenses/events", slow.APIKey)
			if err != nil && t.Context().Err() == nil {
				t.Error(err)
			}
			statuses <- status
		}()
	}
	got := map[int]int{}
	for range asked {
		got[<-statuses]++
	}
	if got[http.StatusOK] == 0 || got[http.StatusTooManyRequests] == 0 || got[http.StatusOK]+got[http.StatusTooManyRequests] != asked {
		t.Errorf("answered by status: %v", got)
	}
	h.operator.with(other.APIKey).must(t, 200, "GET", "/v2/profile", nil)
}
