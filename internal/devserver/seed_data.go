package devserver

import (
	"context"
	_ "embed" // the icon
	"slices"
	"strconv"
	"strings"
	"time"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// The seeded users, by role.
const (
	buyerEmail    = "buyer@example.com"
	memberEmail   = "partner@example.com"
	operatorEmail = "operator@example.com"
)

// actor is the audit actor of seeding.
var actor = audit.System("claviger dev")

// plans are the plans of the seeded partner. They have no checkout: dev sells for test money.
var plans = []partner.Plan{
	{
		Tier: 1, Name: "Starter", PriceCents: 5900, Currency: "USD", Description: "For one person with a few projects.",
		Features: []string{"1 seat", "10 boards", "Updates for a year"},
	},
	{
		Tier: 2, Name: "Team", PriceCents: 11900, Currency: "USD", Description: "For teams that plan together.",
		Recommended: true,
		Features:    []string{"10 seats", "Unlimited boards", "Updates for life", "Answers within one working day"},
	},
	{
		Tier: 3, Name: "Business", PriceCents: 17900, Currency: "USD", Description: "For companies with their own " +
			"rules.",
		Features: []string{
			"50 seats",
			"Unlimited boards",
			"Updates for life",
			"Single sign-on",
			"Answers within four hours",
		},
	},
}

// product returns the product page of the seeded partner.
func product() partner.ProductChange {
	return partner.ProductChange{
		Tagline:      new("Plan your team's week on one board"),
		Description:  new(description),
		Website:      new("https://sample-app.example"),
		SupportEmail: new("help@sample-app.example"),
		RefundTerms:  new("Your money back within 30 days, whatever the reason. Write to us, and the license ends."),
		Icon:         &icon,
	}
}

//go:embed icon.png
var icon []byte

const description = `Sample App puts everybody's week on **one board**: who does what, and what waits for whom.

### Why teams stay

- See the whole week at a glance, on any screen.
- Move work between people, and everybody knows.
- Keep your data: export everything at any time.

Questions? [Write to us](mailto:help@sample-app.example).`

// seedData creates missing data and applies the options of this start (URLs, brand, single key). It
// may be interrupted anywhere and run again. Once the data is complete, it only applies the
// options.
func (s seed) seedData(ctx context.Context, services *app.Services, cfg Config, url string) (partner.Partner, error) {
	if s.partnerID == 0 {
		p, err := s.partner(ctx, services, cfg)
		if err != nil {
			return p, err
		}
		if err := s.people(ctx, services, p); err != nil {
			return p, err
		}
		if err := s.operatorToken(ctx, services); err != nil {
			return p, err
		}
		if err := keep(ctx, services.DB, partnerRow, strconv.FormatInt(p.ID, 10)); err != nil {
			return p, err
		}
		s.partnerID = p.ID
	}
	stored, err := services.Profiles.Read(ctx, services.DB, s.partnerID)
	if err != nil {
		return partner.Partner{}, err
	}
	var change partner.Change
	if change.SingleKey = cfg.SingleKey; cfg.SingleKey != nil {
		change.Given = s.credentials(*cfg.SingleKey) // the card can print them again
	}
	if cfg.App.Brand != "" {
		change.Brand = &cfg.App.Brand
	}
	urls := profile.URLChange{
		Webhook:  target(cfg.Webhook, stored.WebhookURL, url, webhookPath),
		Redirect: target(cfg.Redirect, stored.RedirectURL, url, callbackPath),
	}
	p, _, _, err := services.Profiles.Amend(ctx, actor, s.partnerID, change, urls, false)
	return p, err
}

// target returns one of the partner's URLs: the option of this start, or the sample's, unless the
// developer saved another. The sample's port may have changed.
func target(asked, stored, url, path string) *string {
	switch sample := url + path; {
	case asked != "":
		return &asked
	case stored == "" || strings.HasSuffix(stored, path):
		return &sample
	}
	return nil
}

// partner creates the seeded partner, its plans and its product page.
func (s seed) partner(ctx context.Context, services *app.Services, cfg Config) (partner.Partner, error) {
	p, err := services.Partners.ByKey(ctx, s.credentials(false).APIKey)
	if fault.Is(err, partner.CodeInvalidKey) {
		draft := partner.Draft{
			Name:      "Sample App",
			Brand:     cfg.App.Brand,
			SingleKey: cfg.SingleKey != nil && *cfg.SingleKey,
		}
		p, _, _, err = services.Profiles.Enrol(ctx, actor, draft, profile.URLs{}, false, s.credentials(draft.SingleKey))
	}
	if err != nil {
		return p, err
	}
	for _, plan := range plans {
		if _, _, err := services.Partners.PutPlan(ctx, actor, p.ID, plan); err != nil {
			return p, err
		}
	}
	_, err = services.Partners.ChangeProduct(ctx, actor, p.ID, product())
	return p, err
}

// people creates the buyer, the partner's member and the operator.
func (s seed) people(ctx context.Context, services *app.Services, p partner.Partner) error {
	// Derived passwords cannot be guessed, so cheap hashing is enough.
	seeding := *services.Accounts
	seeding.HashCost = account.HashCost{KiB: 8, Passes: 1}
	names := map[string]string{buyerEmail: "Bea Buyer", memberEmail: "Pat Partner", operatorEmail: "Olga Operator"}
	for _, email := range []string{buyerEmail, memberEmail, operatorEmail} {
		u, _, err := services.Accounts.Create(ctx, actor, account.Person{Email: email, Name: names[email]})
		if err != nil {
			return err
		}
		password, err := seeding.NewPassword(ctx, email, s.password(email))
		if err != nil {
			return err
		}
		err = services.DB.Write(ctx, func(tx *sqldb.Tx) error {
			if email == operatorEmail {
				if _, err := account.SetRole(ctx, tx, actor, u.ID, account.RoleAdmin, app.Now()); err != nil {
					return err
				}
			}
			return account.SetPassword(ctx, tx, actor, u.ID, password, app.Now())
		})
		if err != nil {
			return err
		}
		if email == memberEmail {
			if _, err := services.Partners.AddMember(ctx, actor, p.ID, u.ID, partner.Admin); err != nil {
				return err
			}
		}
	}
	return nil
}

// operatorToken creates the operator's token, which has every scope.
func (s seed) operatorToken(ctx context.Context, services *app.Services) error {
	_, err := services.Accounts.ByToken(ctx, s.token())
	if fault.Is(err, account.CodeInvalidToken) {
		_, _, err = services.Accounts.AddToken(
			ctx,
			actor,
			"claviger dev",
			[]account.Scope{account.Admin},
			time.Time{},
			s.token(),
		)
	}
	return err
}

// stale lists the seeded secrets that were replaced since. Secrets are hashed, so the new ones
// cannot be printed.
func (s seed) stale(ctx context.Context, services *app.Services, p partner.Partner) ([]string, error) {
	var notes []string
	c := s.credentials(p.SingleKey)
	note := func(err error, code, what string) error {
		if !fault.Is(err, code) {
			return err
		}
		notes = append(notes, what+" was replaced since it was seeded; the one shown no longer works")
		return nil
	}
	_, err := services.Partners.ByKey(ctx, c.APIKey)
	if err := note(err, partner.CodeInvalidKey, "api_key"); err != nil {
		return nil, err
	}
	_, err = services.Partners.ByClient(ctx, services.Partners.DB, c.ClientID, c.ClientSecret)
	if err := note(err, partner.CodeInvalidClient, "client_secret"); err != nil {
		return nil, err
	}
	_, err = services.Accounts.ByToken(ctx, s.token())
	if err := note(err, account.CodeInvalidToken, "operator_token"); err != nil {
		return nil, err
	}
	secrets, err := services.Partners.WebhookSecrets(ctx, p.ID)
	if err == nil && !slices.Contains(secrets, c.WebhookSecret) {
		notes = append(notes, "webhook_secret was replaced since it was seeded; the one shown no longer signs")
	}
	return notes, err
}
