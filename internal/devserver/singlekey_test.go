package devserver_test

import (
	"testing"

	"claviger/internal/sqldb/sqldbtest"
)

// TestSingleKey: the flag makes the API key the webhook secret, too, also in existing data. Without
// the flag nothing changes, and the card names the signing secret.
func TestSingleKey(t *testing.T) {
	for _, begins := range []bool{true, false} {
		db := sqldbtest.URL(t)
		for i, asked := range []*bool{&begins, nil, new(!begins), nil, new(begins)} {
			want := begins != (i == 2 || i == 3)
			cfg := config(db)
			cfg.SingleKey = asked
			card, notes := once(t, cfg)
			if single := card.Partner.APIKey == card.Partner.WebhookSecret; single != want || len(notes) > 0 {
				t.Errorf("start %d: single %v, want %v; notes %q", i+1, single, want, notes)
			}
			_, partners, _ := services(t, db)
			p, err := partners.ByKey(t.Context(), card.Partner.APIKey)
			if err != nil || p.SingleKey != want {
				t.Errorf("start %d: %+v, %v", i+1, p, err)
			}
		}
	}
}
