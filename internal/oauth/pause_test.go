package oauth_test

import (
	"errors"
	"net/http"
	"testing"

	"claviger/internal/fault"
	"claviger/internal/oauth"
)

// TestWhatGoesOnWhilePaused pauses a partner between an authorization and the exchange of its code.
// Issued codes and tokens keep working, and nothing new is accepted.
func TestWhatGoesOnWhilePaused(t *testing.T) {
	h := newEndpoints(t)
	_, live := h.connect()
	l := h.buy(h.ours)
	code := h.code(l)
	request, err := h.MarketplaceRequest(t.Context(), h.ours.ID)
	h.Must(err)
	_, _, err = h.Profiles.Pause(t.Context(), theOperator, h.ours.ID, "unpaid invoice")
	h.Must(err)

	got := h.tokens(h.post(h.exchangeOf(code)))
	if !h.opens(got.Access) || !h.opens(live.Access) {
		t.Error("a token does not serve")
	}
	if a := h.post(h.refreshOf(live.Refresh)); a.Status != http.StatusOK {
		t.Errorf("a refresh answered %d: %s", a.Status, a.Body)
	}

	// A consent requested before the pause and given now.
	if _, _, err := h.Accept(t.Context(), theOperator, request, oauth.Authentication{UserID: l.OwnerID, At: h.clock.Now()}, l.RedemptionID); !fault.Is(err, "partner_paused") {
		t.Errorf("accepted: %v", err)
	}
	var denied *oauth.Denial
	if _, err := h.ParseAuthorize(t.Context(), form("client_id", h.ours.ClientID, "response_type", "code", "state", "s")); !errors.As(err, &denied) || denied.Code != "temporarily_unavailable" {
		t.Errorf("begun: %v", err)
	}
}
