package operator_test

import (
	"strings"
	"testing"

	"claviger/internal/account"
)

// TestTimeline: the answer follows its description and has the text for a reply, which names no
// program.
func TestTimeline(t *testing.T) {
	h := newHarness(t)
	var sold struct {
		Licenses struct {
			Items []struct {
				Key string `json:"license_key"`
			} `json:"items"`
		} `json:"licenses"`
	}
	h.send(h.tokens[account.Sell], "POST", "/operator/v1/purchases", `{"partner_id":1,"tier":1,"user":{"email":"ada@example.com"},"external_id":"order-1"}`).Into(t, &sold)
	key := sold.Licenses.Items[0].Key
	h.send(h.tokens[account.Support], "POST", "/operator/v1/licenses/"+key+"/hold", `{}`)
	got := h.send(h.tokens[account.Read], "GET", "/operator/v1/licenses/"+key+"/timeline", "")
	var timeline struct {
		Text    string `json:"text"`
		Entries struct {
			Items []struct {
				Kind, By string
			} `json:"items"`
		} `json:"entries"`
	}
	got.Into(t, &timeline)
	if got.Status != 200 || len(timeline.Entries.Items) != 4 || timeline.Entries.Items[1].By != "the program support" {
		t.Errorf("the timeline is %d %s", got.Status, got.Body)
	}
	if !strings.Contains(timeline.Text, "put on hold, by the marketplace") || strings.Contains(timeline.Text, "program") || strings.Contains(timeline.Text, "ada@") {
		t.Errorf("the text for a reply is\n%s", timeline.Text)
	}
}
