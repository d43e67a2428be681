package operator_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/paging"
)

// entry is an audit entry for comparison: the act, its subject, and whether it has the states
// before and after.
type entry struct {
	Action, Subject string
	Before, After   bool
}

// since lists the entries after an id, oldest first.
func (h *harness) since(id int64) []audit.Entry {
	h.Helper()
	list, _, err := h.operator.Audit.List(h.Context(), audit.Filter{}, paging.Page{Number: 1, Limit: 100})
	if err != nil {
		h.Fatal(err)
	}
	var news []audit.Entry
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].ID > id {
			news = append(news, list[i])
		}
	}
	return news
}

// last returns the id of the newest entry.
func (h *harness) last() int64 {
	h.Helper()
	all := h.since(0)
	return all[len(all)-1].ID
}

// TestEveryWriteIsAudited makes every write, one after another. Each leaves one entry for each
// thing it changed, by the calling token. A repeat without a change leaves none.
func TestEveryWriteIsAudited(t *testing.T) {
	h := newHarness(t)
	key, free := h.buy("order-1"), keysOf(t, h.must(201, "POST", purchases, `{"partner_id":1,"tier":1,"external_id":"free"}`))[0]
	license, refund := "license:"+key, ""
	for _, step := range []struct {
		method, path, body string
		status             int
		want               []entry
	}{
		{"POST", "/operator/v1/partners", `{"name":"Two","external_id":"app-2"}`, 201, []entry{{"partner.create", "partner:2", false, true}}},
		{"POST", "/operator/v1/partners", `{"name":"Two","external_id":"app-2"}`, 200, nil},
		{"PATCH", "/operator/v1/partners/2", `{"strict":true}`, 200, []entry{{"partner.update", "partner:2", true, true}}},
		{"PATCH", "/operator/v1/partners/2", `{"strict":true}`, 200, nil},
		{"PATCH", "/operator/v1/partners/2", `{"webhook_url":"https://two.example/"}`, 200, []entry{{"profile.urls", "partner:2", true, true}}},
		{"POST", "/operator/v1/partners/2/switch", `{"what":"client_secret"}`, 204, nil},
		{"POST", "/operator/v1/partners/2/rotate", `{"what":"client_secret"}`, 200, []entry{{"partner.rotate", "partner:2", false, true}}},
		{"PUT", "/operator/v1/partners/2/plans/1", `{"name":"One"}`, 201, []entry{{"plan.create", "partner:2/plan:1", false, true}}},
		{"PUT", "/operator/v1/partners/2/plans/1", `{"name":"Uno"}`, 200, []entry{{"plan.update", "partner:2/plan:1", true, true}}},
		{"PUT", "/operator/v1/partners/2/plans/1", `{"name":"Uno"}`, 200, nil},
		{"POST", "/operator/v1/partners/2/pause", `{"reason":"Unpaid"}`, 200, []entry{{"partner.pause", "partner:2", true, true}}},
		{"POST", "/operator/v1/partners/2/pause", `{"reason":"Unpaid"}`, 200, nil},
		{"POST", "/operator/v1/partners/2/pause", `{"reason":"Unpaid for a month"}`, 200, []entry{{"partner.pause", "partner:2", true, true}}},
		{"POST", "/operator/v1/partners/2/resume", "", 200, []entry{{"partner.resume", "partner:2", true, true}}},
		{"POST", "/operator/v1/partners/2/resume", "", 200, nil},
		{"DELETE", "/operator/v1/partners/2/plans/1", "", 204, []entry{{"plan.delete", "partner:2/plan:1", true, false}}},
		{"POST", "/operator/v1/users", `{"email":"eve@example.com"}`, 201, []entry{{"user.create", "user:2", false, true}}},
		{"POST", "/operator/v1/users", `{"email":"eve@example.com"}`, 200, nil},
		{"POST", "/operator/v1/users/2/session", "", 201, []entry{{"user.link", "user:2", false, false}}},
		{"POST", "/operator/v1/partners/2/members", `{"email":"eve@example.com","role":"viewer"}`, 201, []entry{{"partner.member", "partner:2", false, true}}},
		{"POST", "/operator/v1/partners/2/members", `{"email":"eve@example.com","role":"admin"}`, 201, []entry{{"partner.member", "partner:2", true, true}}},
		{"POST", "/operator/v1/users/2/session", "", 403, nil}, // of a member
		{"POST", "/operator/v1/licenses/{key}/activate", "", 200, []entry{{"license.activate", license, true, true}}},
		{"POST", "/operator/v1/licenses/{key}/activate", "", 200, nil},
		{"POST", "/operator/v1/licenses/{key}/plan", `{"tier":2,"external_id":"order-2"}`, 200, []entry{{"license.plan", license, true, true}}},
		{"POST", "/operator/v1/licenses/{key}/plan", `{"tier":2,"external_id":"order-2"}`, 200, nil},
		{"POST", "/operator/v1/licenses/{key}/hold", `{"reason":"chargeback"}`, 200, []entry{{"license.hold", license, true, true}}},
		{"POST", "/operator/v1/licenses/{key}/reinstate", "", 200, []entry{{"license.reinstate", license, true, true}}},
		{"POST", "/operator/v1/licenses/{key}/release", "", 200, []entry{{"license.release", license, true, true}}},
		{"POST", "/operator/v1/licenses/{key}/transfer", `{"user":{"email":"eve@example.com"}}`, 200, []entry{{"license.transfer", license, true, true}}},
		{
			"POST", refunds, `{"license_key":"{key}","external_id":"refund-1"}`, 201,
			[]entry{{"license.refund", license, true, true}, {"refund.create", "refund:1", false, true}},
		},
		{"POST", refunds, `{"license_key":"{key}","external_id":"refund-1"}`, 201, nil},
		{"POST", "/operator/v1/refunds/{refund}/reverse", "", 200, []entry{{"license.refund_reversed", license, true, true}}},
		{"POST", "/operator/v1/events/1/redeliver", "", 202, []entry{{"event.redeliver", "event:1", false, false}}},
		{"POST", "/operator/v1/partners/1/redeliver", `{"from":"2026-03-01T00:00:00Z"}`, 202, []entry{{"partner.redeliver", "partner:1", false, true}}},
		{"DELETE", "/operator/v1/users/2", "", 200, []entry{{"license.erase", license, true, true}, {"partner.member_erase", "partner:2", true, false}, {"user.erase", "user:2", false, false}}},
		{"DELETE", "/operator/v1/users/2", "", 200, nil},
		{"POST", "/operator/v1/partners", `{"name":"Three","webhook_url":"https://three.example/","external_id":"app-3"}`, 201, []entry{{"partner.create", "partner:3", false, true}, {"profile.urls", "partner:3", false, true}}},
		{"POST", "/operator/v1/partners/3/members", `{"email":"zoe@example.com","role":"admin"}`, 201, []entry{{"user.create", "user:3", false, true}, {"partner.member", "partner:3", false, true}}},
		{"POST", "/operator/v1/licenses/" + free + "/hold", `{"reason":"fraud"}`, 422, nil},
		{"POST", "/operator/v1/licenses/" + free + "/release", "", 409, nil},
	} {
		before := h.last()
		fill := strings.NewReplacer("{key}", key, "{refund}", refund)
		a := h.must(step.status, step.method, fill.Replace(step.path), fill.Replace(step.body))
		if step.path == refunds {
			refund = refundID(t, a)
		}
		var got []entry
		for _, e := range h.since(before) {
			if e.Actor.Kind != audit.ByToken || e.Actor.Name != "admin" {
				t.Errorf("%s %s was audited as done by %+v", step.method, step.path, e.Actor)
			}
			got = append(got, entry{e.Action, e.Subject, e.Before != "", e.After != ""})
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%s %s %s left other entries (-want +got):\n%s", step.method, step.path, step.body, diff)
		}
	}
}

// refundID returns the id of the refund in an answer.
func refundID(t *testing.T, a answer) string {
	t.Helper()
	var v struct {
		Refund struct {
			ID int64 `json:"id"`
		} `json:"refund"`
	}
	a.Into(t, &v)
	return strconv.FormatInt(v.Refund.ID, 10)
}

// TestPurchaseIsAudited checks the entry of a purchase: it names the purchase, and exists only
// once.
func TestPurchaseIsAudited(t *testing.T) {
	h := newHarness(t)
	before := h.last()
	for range 2 {
		h.must(201, "POST", purchases, `{"partner_id":1,"tier":2,"user":{"email":"ada@example.com"},"quantity":2,"external_id":"order-1"}`)
	}
	news := h.since(before)
	if len(news) != 1 || news[0].Action != "purchase.create" || news[0].Before != "" || !strings.Contains(news[0].After, `"external_id":"order-1"`) {
		t.Errorf("a purchase sent twice left these entries: %+v", news)
	}
}

// TestAuditHasNoSecrets searches the whole audit for every secret that the API has shown, and for
// people's addresses.
func TestAuditHasNoSecrets(t *testing.T) {
	h := newHarness(t)
	var shown struct {
		ClientSecret  string `json:"client_secret"`
		APIKey        string `json:"api_key"`
		WebhookSecret string `json:"webhook_secret"`
	}
	h.must(201, "POST", "/operator/v1/partners", `{"name":"Two","external_id":"app-2"}`).Into(t, &shown)
	secrets := []string{shown.ClientSecret, shown.APIKey, shown.WebhookSecret, "ada@example.com", "grace@example.com"}
	for _, what := range []string{"client_secret", "api_key", "webhook_secret"} {
		var made struct {
			Secret string `json:"secret"`
		}
		h.must(200, "POST", "/operator/v1/partners/2/rotate", `{"what":"`+what+`","overlap_s":60}`).Into(t, &made)
		secrets = append(secrets, made.Secret)
	}
	key := h.buy("order-1")
	h.must(200, "POST", "/operator/v1/licenses/"+key+"/transfer", `{"user":{"email":"grace@example.com","name":"Grace"}}`)
	h.must(201, "POST", "/operator/v1/partners/2/members", `{"email":"grace@example.com","role":"admin"}`)
	var linked struct {
		ID int64 `json:"id"`
	}
	var link struct {
		URL string `json:"url"`
	}
	h.must(201, "POST", "/operator/v1/users", `{"email":"linked@example.com"}`).Into(t, &linked)
	h.must(201, "POST", fmt.Sprintf("/operator/v1/users/%d/session", linked.ID), "").Into(t, &link)
	_, token, _ := strings.Cut(link.URL, "token=")
	secrets = append(secrets, token)
	for _, s := range []account.Scope{account.Read, account.Sell, account.Support, account.Admin} {
		secrets = append(secrets, h.tokens[s])
	}
	for _, e := range h.since(0) {
		for _, secret := range secrets {
			if secret == "" || strings.Contains(e.Before+e.After+e.Subject+e.Action+e.Actor.Name, secret) {
				t.Errorf("the entry %+v tells %q", e, secret)
			}
		}
	}
}
