package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"claviger/internal/sqldb/sqldbtest"
)

// importBlock is the number of lines that an import stores together.
const importBlock = 1000

// importFile returns a table of n licenses of a partner, and their keys.
func importFile(partnerID int64, n int) (lines, keys []string) {
	lines = []string{"license_key,partner_id,tier,status,email,sold_at\n"}
	for i := range n {
		key, status, email := fmt.Sprintf("3f2c1b4e-8a6d-4c7f-9b0e-%012x", i), "inactive", ""
		switch i % 3 {
		case 0:
			status, email = "active", fmt.Sprintf("buyer%d@example.com", i%50)
		case 1:
			status, email = "deactivated", fmt.Sprintf("buyer%d@example.com", i)
		}
		keys = append(keys, key)
		lines = append(lines, fmt.Sprintf("%s,%d,1,%s,%s,2024-05-31\n", key, partnerID, status, email))
	}
	return lines, keys
}

// imported is the result of an import.
type imported struct{ Lines, Created, Unchanged, Refused int }

// importTable sends a table from body.
func importTable(ctx context.Context, c *child, body io.Reader) (done imported, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.card.BaseURL+"/operator/v1/import", body)
	if err != nil {
		return done, err
	}
	r.Header.Set("Authorization", "Bearer "+c.card.OperatorToken)
	r.Header.Set("Content-Type", "text/csv")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return done, err
	}
	err = json.NewDecoder(resp.Body).Decode(&done)
	if resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answered %s", resp.Status)
	}
	return done, errors.Join(err, resp.Body.Close())
}

// stored returns the number of the partner's licenses.
func stored(t *testing.T, c *child) int {
	t.Helper()
	n, err := strconv.Atoi(c.partner().must(t, 200, "GET", "/v2/licenses?limit=1", nil).header.Get("X-Total-Count"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// cutImport begins an import and kills the program once this many licenses are stored. The end of
// the body is not sent before.
func cutImport(t *testing.T, c *child, lines []string, when int) {
	t.Helper()
	body, to := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := importTable(t.Context(), c, body)
		ended <- errors.Join(err, body.Close())
	}()
	go func() { _, _ = io.WriteString(to, strings.Join(lines, "")) }() // the cut ends it
	for look := time.NewTicker(20 * time.Millisecond); stored(t, c) < when; {
		select {
		case <-look.C:
		case err := <-ended:
			t.Fatalf("the import ended before the cut: %v", err)
		}
	}
	_ = c.end(syscall.SIGKILL)                 // killed, which is an error for Wait
	_ = to.CloseWithError(io.ErrUnexpectedEOF) // the client waits for its body
	if err := <-ended; err == nil {
		t.Error("an import that was cut off was answered")
	}
}

// TestKilledImport kills the program while it stores an import, then between two blocks of it. The
// same file is sent again each time: existing licenses stay, and missing ones are created once.
func TestKilledImport(t *testing.T) {
	t.Parallel()
	db := sqldbtest.URL(t)
	const all, between = 3*importBlock + 500, 3 * importBlock
	c := launch(t, "--db", db)
	lines, keys := importFile(c.card.Partner.ID, all)
	cutImport(t, c, lines, importBlock)
	c = launch(t, "--db", db)
	there := stored(t, c)
	if there < importBlock || there%importBlock != 0 {
		t.Errorf("after a cut there are %d licenses, want whole blocks of %d", there, importBlock)
	}
	t.Logf("%d licenses were there after the first cut", there)
	cutImport(t, c, lines, between) // the program waits for the rest of the last block
	c = launch(t, "--db", db)
	if there = stored(t, c); there != between {
		t.Fatalf("after a cut between blocks there are %d licenses, want %d", there, between)
	}
	for _, want := range []imported{{all, all - there, there, 0}, {all, 0, all, 0}} {
		if got, err := importTable(t.Context(), c, strings.NewReader(strings.Join(lines, ""))); err != nil || got != want {
			t.Errorf("the file sent again came to %+v, %v; want %+v", got, err, want)
		}
	}
	got := allKeys(t, c)
	if missing := slices.DeleteFunc(keys, func(key string) bool { return got[key] }); len(missing) > 0 || stored(t, c) != all {
		t.Errorf("%d licenses, missing %d: %v", stored(t, c), len(missing), missing)
	}
	checkEvents(t, c, all)
	purchases := c.operator().must(t, 200, "GET", "/operator/v1/exports/purchases", nil)
	if want := fmt.Sprintf("#complete,%d,", all); !strings.Contains(string(purchases.body), want) {
		t.Errorf("the list of purchases does not end with %s", want)
	}
	if err := c.end(syscall.SIGTERM); err != nil {
		t.Errorf("the last one did not end in order: %v", err)
	}
}
