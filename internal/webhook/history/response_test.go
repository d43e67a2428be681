package history_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"claviger/internal/paging"
	"claviger/internal/sqldb"
	"claviger/internal/webhook"
	"claviger/internal/webhook/history"
	"claviger/internal/webhook/webhooktest"
)

// answered stores one attempt for event 1 with this response body.
func answered(t *testing.T, o *webhook.Outbox, body string) {
	t.Helper()
	webhooktest.Write(t, o, func(tx *sqldb.Tx) {
		tx.Queue(`INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time,
			url, success, created_at, updated_at) VALUES (1, '', 500, $1, 0, '', $2, 0, 0)`, body, false)
	})
}

// shown returns the body of the one attempt, embedded in its event and in the list of responses.
func shown(t *testing.T, o *webhook.Outbox) (embedded, whole string) {
	t.Helper()
	err := o.DB.Read(t.Context(), func(tx *sqldb.Tx) error {
		got, err := history.OfEvents(t.Context(), tx, []int64{1})
		if err == nil {
			embedded = got[1][0].ResponseBody
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := read(o).Responses(t.Context(), 1, nil, paging.First())
	if err != nil {
		t.Fatal(err)
	}
	return embedded, list.Responses[0].ResponseBody
}

func TestEmbeddedBodiesAreCut(t *testing.T) {
	for name, c := range map[string]struct{ body, embedded string }{
		"short":              {`{"success":false}`, `{"success":false}`},
		"as long as it goes": {strings.Repeat("a", 1024), strings.Repeat("a", 1024)},
		"longer":             {strings.Repeat("a", 16<<10), strings.Repeat("a", 1024)},
		"two bytes each":     {"a" + strings.Repeat("ä", 1024), "a" + strings.Repeat("ä", 511)},
		"four bytes each":    {strings.Repeat("😀", 1024), strings.Repeat("😀", 256)},
	} {
		t.Run(name, func(t *testing.T) {
			o := webhooktest.Box(t)
			answered(t, o, c.body)
			embedded, whole := shown(t, o)
			if embedded != c.embedded || len(embedded) > history.EmbeddedBody || !utf8.ValidString(embedded) {
				t.Errorf("embedded are %d bytes %.20q…, want %d", len(embedded), embedded, len(c.embedded))
			}
			if whole != c.body {
				t.Errorf("the list of responses has %d bytes, want %d", len(whole), len(c.body))
			}
		})
	}
}

// TestControlCharactersOfOldRecords: control characters in bodies stored by earlier versions are
// replaced.
func TestControlCharactersOfOldRecords(t *testing.T) {
	o := webhooktest.Box(t)
	answered(t, o, "a\x01\t\r\n"+strings.Repeat("\x02", 16<<10-5))
	embedded, whole := shown(t, o)
	for _, got := range []string{embedded, whole} {
		if !strings.HasPrefix(got, "a\ufffd\t\r\n\ufffd\ufffd") || strings.ContainsAny(got, "\x01\x02") || len(got) > 16<<10 {
			t.Errorf("shown are %d bytes, %.20q…", len(got), got)
		}
	}
}
