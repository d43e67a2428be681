package portal_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"claviger/internal/ledger"
)

// TestEarnings: the team sees what each sale earned, and its statements as pages and files; nothing about
// the buyer, and nothing of another partner.
func TestEarnings(t *testing.T) {
	h := start(t)
	wants(t, h.as(viewer).Get(h.path("/earnings")), http.StatusOK, "No earnings yet")
	h.Post(h.tide.ID, time.Now(), func(_ context.Context, j *ledger.Journal) error {
		return j.AddTerms(ledger.Terms{
			ShareBP: 7000, Bears: ledger.PartnerBears, Smallest: map[string]int64{"USD": 100_000},
		})
	})
	h.sell(h.tide)
	h.sell(h.reef)
	page := h.as(viewer).Get(h.path("/earnings"))
	wants(t, page, http.StatusOK, "$34.30", "$49.00", "Pending", "nothing payable yet", "so far")
	h.Post(h.tide.ID, time.Now(), func(_ context.Context, j *ledger.Journal) error {
		return j.Adjust("prize", 1500, "USD", "A prize, =1+1")
	})
	closed := h.Statement(h.tide.ID)
	if len(closed) != 1 || closed[0].Closing != 3430+1500 {
		t.Fatalf("%+v", closed)
	}
	list := h.as(viewer).Get(h.path("/earnings"))
	wants(t, list, http.StatusOK, "Statement 1", "$49.30", "carried over: below $1,000.00")
	one := h.as(viewer).Get(h.path("/statements/1"))
	wants(t, one, http.StatusOK, "Opening balance", "Closing balance", "$49.30", "A prize", "Tier 1", closed[0].Month.Name())
	file := h.as(viewer).Post(h.path("/statements/1"))
	wants(t, file, http.StatusOK, ",sale,", ",1500,USD,", ",closing,,,4930,USD,", "#complete,4")
	if name := file.Header.Get("Content-Disposition"); !strings.Contains(name, "statement-1-"+closed[0].Month.String()+"-USD.csv") {
		t.Errorf("the file is %s", name)
	}
	for _, p := range []string{page.Body, list.Body, one.Body, file.Body} {
		if strings.Contains(p, buyer) || strings.Contains(p, "Undivided") {
			t.Errorf("the page has the buyer, or a sale of Reef: %s", p)
		}
	}
	wants(t, h.as(viewer).Get(h.path("/statements/2")), http.StatusNotFound)
	wants(t, h.as(viewer).Get(h.path("/statements/x")), http.StatusNotFound)
}
