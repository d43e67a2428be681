package e2e_test

import (
	"testing"

	"claviger/internal/e2e/browser"
)

// says waits until an element of the page has a text, without reloading the page.
func (b *buyer) says(css, text string) {
	b.t.Helper()
	browser.Eval[bool](b.Tab, `new Promise((done) => {
		const look = () => { if (document.querySelector('`+css+`')?.textContent.includes('`+text+`')) done(true); };
		new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
		look();
	})`)
}

// TestSetUp goes from an application without URLs to its first delivery and sign-in. The
// page shows each step as it happens.
func TestSetUp(t *testing.T) {
	t.Parallel()
	b := newBuyer(t, nil)
	api := caller{base: b.card.BaseURL, token: b.card.Partner.APIKey}
	urls := read[struct {
		Webhook  string `json:"webhook_url"`
		Redirect string `json:"redirect_url"`
	}](t, api.must(t, 200, "GET", "/v2/profile", nil))
	api.must(t, 200, "PATCH", "/v2/profile", object{"webhook_url": "", "redirect_url": ""})

	b.signInAs(b.card.Member.Email, b.card.Member.Password)
	b.visit(b.path("/setup"))
	b.on("Set-up")
	b.save("redirect_url", urls.Redirect)
	b.says("#check-redirect-url", "The check passed")
	b.save("webhook_url", b.card.BaseURL+"/nowhere")
	b.says("#check-webhook-url", "The check failed")
	b.Look("setup-failed")
	b.save("webhook_url", urls.Webhook)
	b.says("#check-webhook-url", "The check passed")
	b.Click("#check-webhook-url details summary")
	b.Look("setup-passed")

	key, redeem := b.sold(b.card.Buyer.Email, "order-1")
	b.says("#checklist li:nth-child(6)", "Done.")
	api.must(t, 200, "GET", "/v2/licenses/"+key, nil)

	person := &buyer{Tab: b.Beside(t), t: t, card: b.card}
	person.Open(b.card.BaseURL + "/account")
	person.Press(".person button")
	person.signInAs(b.card.Buyer.Email, b.card.Buyer.Password)
	person.Open(redeem)
	if browser.Eval[bool](person.Tab, `document.querySelector('button[value=allow]') === null`) {
		person.Press("main form button")
	}
	person.Press("button[value=allow]")
	person.arrives()
	person.visit("/account")
	person.Press(".person button")
	person.signInAs(b.card.Member.Email, b.card.Member.Password)
	person.visit(person.path("/setup"))
	person.says("#checklist-title", "6 of 6 steps are done")
	person.Look("setup-done")
}

// save types a URL and saves it.
func (b *buyer) save(field, url string) {
	b.t.Helper()
	browser.Eval[bool](b.Tab, `(document.querySelector('#`+field+`').value = '') === ''`)
	b.Type("#"+field, url)
	b.Press("form:has(#" + field + ") button")
}
