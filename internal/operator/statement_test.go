package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/profile"
)

// testStatements reads the statements of a partner; those of another one do not exist.
func testStatements(t *testing.T, h *harness) {
	h.Helper()
	other, _ := h.Partner("Reef Maps", profile.URLs{})
	h.Earn(h.clock.Now(), h.partner)
	ask := func(path string, partnerID int64) answer {
		return h.send(h.tokens[account.Read], "GET", fmt.Sprintf("/operator/v1/partners/%d/statements%s", partnerID, path), "")
	}
	if a := ask("", h.partner); a.Status != 200 || !strings.Contains(a.Body, `"size":1,"items":[{"number":1,`) ||
		!strings.Contains(a.Body, `"sales":4130,"settled":0,"refunds":-2065,`) {
		t.Errorf("answered %d %s", a.Status, a.Body)
	}
	if a := ask("/1", h.partner); a.Status != 200 || !strings.Contains(a.Body, `"lines":{"size":2,`) {
		t.Errorf("answered %d %s", a.Status, a.Body)
	}
	if a := ask("/1", other.ID); a.Status != 404 || !strings.Contains(a.Body, "unknown_statement") {
		t.Errorf("answered %d %s", a.Status, a.Body)
	}
}
