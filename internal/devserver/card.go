package devserver

import (
	"fmt"
	"strings"

	"claviger/internal/partner"
)

// Card is the output of `dev` at start. With --json it is the first line of the output, and
// programs rely on its members.
type Card struct {
	AuthURL       string      `json:"auth_url"`
	BaseURL       string      `json:"base_url"`
	OperatorURL   string      `json:"operator_url"`
	PortalURL     string      `json:"portal_url"`
	ConsoleURL    string      `json:"console_url"`
	ShopURL       string      `json:"shop_url"`
	MailURL       string      `json:"mail_url"`
	PaymentsURL   string      `json:"-"` // of the fake Stripe; "" with a real account
	OperatorToken string      `json:"operator_token"`
	Partner       PartnerCard `json:"partner"`
	Buyer         PersonCard  `json:"buyer"`
	Member        PersonCard  `json:"member"`
	Operator      PersonCard  `json:"operator"`
}

// PartnerCard is the seeded partner with its credentials.
type PartnerCard struct {
	ID            int64  `json:"id"`
	ClientID      string `json:"client_id"`
	ClientSecret  string `json:"client_secret"`
	APIKey        string `json:"api_key"`
	WebhookSecret string `json:"webhook_secret"`
}

// PersonCard is a seeded person with the password.
type PersonCard struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

// card returns the card for a service at url.
func (s seed) card(url string, p partner.Partner) Card {
	c := s.credentials(p.SingleKey)
	person := func(email string) PersonCard { return PersonCard{Email: email, Password: s.password(email)} }
	return Card{
		AuthURL: url, BaseURL: url, OperatorURL: url + "/operator/v1",
		PortalURL: url + "/portal/", ConsoleURL: url + "/console/", ShopURL: url + "/", MailURL: url + "/dev/mail/",
		OperatorToken: s.token(),
		Partner: PartnerCard{
			ID:            p.ID,
			ClientID:      c.ClientID,
			ClientSecret:  c.ClientSecret,
			APIKey:        c.APIKey,
			WebhookSecret: c.WebhookSecret,
		},
		Buyer: person(buyerEmail), Member: person(memberEmail), Operator: person(operatorEmail),
	}
}

// places returns the links of the control page.
func (c Card) places() []place {
	list := []place{
		{c.ShopURL, "Shop", "what buyers see; sign in as " + c.Buyer.Email},
		{c.PortalURL, "Portal", "what the partner's people see; sign in as " + c.Member.Email},
		{c.ConsoleURL, "Console", "what the marketplace's people see; sign in as " + c.Operator.Email},
		{c.MailURL, "Emails", "what was mailed to whom"},
	}
	if c.PaymentsURL != "" {
		list = append(list, place{c.PaymentsURL, "Payments", "a stand-in for Stripe"})
	}
	return append(list,
		place{c.BaseURL + samplePath + "/", "Sample application", "the partner's, until you name yours"},
		place{c.BaseURL + galleryPath, "Gallery", "the parts that pages are made of"},
		place{c.BaseURL + "/docs/", "Guides", "how to integrate, and the API"},
	)
}

// Text returns the card for a person: addresses, users, and lines to paste into a terminal.
func (c Card) Text() string {
	var b strings.Builder
	line := func(name, value string) { fmt.Fprintf(&b, "  %-15s %s\n", name, value) }
	fmt.Fprintf(&b, "claviger dev serves at %s\n\nThe partner\n", c.BaseURL)
	line("id", fmt.Sprint(c.Partner.ID))
	line("api key", c.Partner.APIKey)
	line("client id", c.Partner.ClientID)
	line("client secret", c.Partner.ClientSecret)
	line("webhook secret", c.Partner.WebhookSecret)
	b.WriteString("\nPages\n")
	line("shop", c.ShopURL)
	line("portal", c.PortalURL+"  (sign in as the member)")
	line("console", c.ConsoleURL+"  (sign in as the operator)")
	line("mails", c.MailURL)
	if c.PaymentsURL != "" {
		line("payments", c.PaymentsURL+"  (a stand-in for Stripe: no money moves)")
	}
	line("control", c.BaseURL+controlPath+"/  (have things happen)")
	line("sample app", c.BaseURL+samplePath+"/")
	line("documentation", c.BaseURL+"/docs/")
	b.WriteString("\nThe operator\n")
	line("token", c.OperatorToken)
	b.WriteString("\nPeople (email and password)\n")
	line("buyer", c.Buyer.Email+"  "+c.Buyer.Password)
	line("member", c.Member.Email+"  "+c.Member.Password)
	line("operator", c.Operator.Email+"  "+c.Operator.Password)
	fmt.Fprintf(&b, `
Buy and redeem as the buyer: open %s, sign in as %s, press Buy, Pay and Activate.

Sell a license, as the marketplace does:

  curl -X POST %s/purchases \
    -H 'Authorization: Bearer %s' \
    -H 'Content-Type: application/json' \
    -d '{"partner_id":%d,"tier":1,"external_id":"order-1","user":{"email":"%s"}}'

See it, as the partner does:

  curl %s/v2/licenses -H 'Authorization: Bearer %s'

`, c.ShopURL, c.Buyer.Email, c.OperatorURL, c.OperatorToken, c.Partner.ID, c.Buyer.Email, c.BaseURL, c.Partner.APIKey)
	return b.String()
}
