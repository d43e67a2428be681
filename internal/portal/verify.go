package portal

import (
	"net/http"
	"strings"

	"claviger/internal/courier"
	"claviger/internal/diagnose/verify"
	"claviger/internal/fault"
	"claviger/internal/simulator"
	"claviger/internal/ui"
	"claviger/internal/wire"
)

const verifyPath = "/verify"

// verifyView is the page that finds the part of a webhook that does not verify.
type verifyView struct {
	Form   ui.Form
	Action string
	Result *verification
	Signer courier.Signer
	Header string // signature header names of Standard Webhooks
	Curl   ui.Curl
}

// verification is the result.
type verification struct {
	verify.Result
	Wrong  int
	Signed []ui.Code
}

func (h *Handler) verify(w http.ResponseWriter, r *http.Request, v *Visit) error {
	return h.showVerify(w, r, v, 0, verifyForm(simulator.Pasted{}), nil)
}

// verifyForm returns the form. It never shows a secret again.
func verifyForm(p simulator.Pasted) ui.Form {
	kind := "text"
	if p.Base64 {
		kind = "base64"
	}
	return ui.Form{Fields: []ui.Field{
		{
			Name: "headers", Label: "Headers", Type: "textarea", Rows: 6, Value: p.Headers, Required: true,
			Hint: "As your server received them, one per line.",
		},
		{
			Name: "body", Label: "Body", Type: "textarea", Rows: 6, Value: p.Body,
			Hint: "As your code saw it, before it was parsed.",
		},
		{
			Name: "form", Label: "The body is", Type: "select", Value: kind, Required: true,
			Options: []ui.Option{
				{Value: "text", Label: "as text"}, {Value: "base64", Label: "in base64, which keeps every byte"},
			},
		},
		{
			Name: "received_at", Label: "Received at", Value: p.At,
			Hint: "Such as 2026-11-15T09:30:00Z, or seconds or milliseconds since 1970.",
		},
		{
			Name: "computed", Label: "Signature that your code computed", Value: p.Computed,
			Hint: "It tells which mistake your code makes.",
		},
		{
			Name: "secret", Label: "Secret that your code uses", Type: "password", Autocomplete: "off",
			Hint: "It is compared with yours, and neither stored nor shown.",
		},
	}}
}

// findSignature checks the pasted webhook. The answer is the page itself, so that nothing is stored
// or put into a URL.
func (h *Handler) findSignature(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	// Browsers send line breaks as CR LF.
	text := func(name string) string { return strings.ReplaceAll(r.PostFormValue(name), "\r\n", "\n") }
	p := simulator.Pasted{
		Body: text("body"), Base64: r.PostFormValue("form") == "base64", Headers: text("headers"),
		At:       ui.FormText(r, "received_at"),
		Computed: ui.FormText(r, "computed"), Secret: r.PostFormValue("secret"),
	}
	form := verifyForm(p)
	found, err := h.Simulator.Verify(r.Context(), v.Partner.ID, p)
	if err != nil {
		if form.Refuse(err) {
			return h.showVerify(w, r, v, wire.Status(fault.Of(err).Kind), form, nil)
		}
		return err
	}
	return h.showVerify(w, r, v, 0, form, &found)
}

func (h *Handler) showVerify(
	w http.ResponseWriter, r *http.Request, v *Visit, status int, form ui.Form, found *verify.Result,
) error {
	view := verifyView{
		Form: form, Action: v.Path(verifyPath), Signer: courier.Signer{Brand: v.Partner.Brand},
		Header: courier.HeaderSignature,
		Curl:   h.call("Verify by API", http.MethodPost, "/v2/verify-signature"),
	}
	view.Curl.JSON = `{"headers": "X-…", "body": "{…}", "received_at": "2026-11-15T09:30:00Z"}`
	if found != nil {
		view.Result = &verification{Result: *found}
		for i, f := range found.Findings {
			view.Result.Findings[i].Text = strings.ToUpper(f.Text[:1]) + f.Text[1:]
			if f.State == verify.Wrong {
				view.Result.Wrong++
			}
		}
		for _, s := range found.Texts(view.Signer) {
			view.Result.Signed = append(
				view.Result.Signed, ui.Code{Label: "Text to sign for " + s.Header, Text: visible(s.Text)},
			)
		}
	}
	return h.render(w, r, v, "verify", ui.View{Title: "Verify a signature", Status: status, Data: view})
}
