package app

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"claviger/internal/fault"
	"claviger/internal/ui"
	"claviger/internal/validate"
)

// legalName parses the name of the seller.
func legalName(c *Config, v string) error {
	name, err := validate.Name("legal-name", v, 0, 100)
	if err != nil {
		return errors.New("must be at most 100 characters in one line")
	}
	c.LegalName = name
	return nil
}

// page parses the address of a web page; "" is none.
func page(at func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		if v == "" {
			return nil
		}
		u, err := validate.URL("it", v, true)
		if err != nil {
			return errors.New("must be the address of a page, such as https://example.com/terms")
		}
		*at(c) = u
		return nil
	}
}

// supportURL parses the contact for buyers.
func supportURL(c *Config, v string) error {
	email, ok := strings.CutPrefix(strings.TrimSpace(v), "mailto:")
	if !ok {
		if page(func(c *Config) *string { return &c.SupportURL })(c, v) != nil {
			return errors.New(
				"must be the address of a page, such as https://example.com/help, or mailto:help@example.com",
			)
		}
		return nil
	}
	email, err := validate.Email("it", email)
	if err != nil {
		return fmt.Errorf("must have an email address behind mailto: %s", fault.Of(err).Text)
	}
	c.SupportURL = (&url.URL{Scheme: "mailto", Opaque: url.PathEscape(email)}).String()
	return nil
}

// logo parses a file name and checks that its picture can be shown.
func logo(c *Config, v string) error {
	if v == "" {
		return nil
	}
	if _, err := readLogo(v); err != nil {
		return err
	}
	c.Logo = v
	return nil
}

func readLogo(file string) (ui.Logo, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return ui.Logo{}, fmt.Errorf("cannot be read: %w", err)
	}
	return ui.ReadLogo(data)
}

// accent parses one or two colours.
func accent(c *Config, v string) error {
	if _, err := ui.ParseAccent(v); err != nil {
		return err
	}
	c.Accent = v
	return nil
}

// imprint returns the seller's data for pages.
func (c Config) imprint() (ui.Imprint, error) {
	i := ui.Imprint{LegalName: c.LegalName, SupportURL: c.SupportURL, TermsURL: c.TermsURL, PrivacyURL: c.PrivacyURL}
	var err error
	if i.Accent, err = ui.ParseAccent(c.Accent); err != nil {
		return i, fmt.Errorf("accent: %w", err)
	}
	if c.Logo != "" {
		if i.Logo, err = readLogo(c.Logo); err != nil {
			return i, fmt.Errorf("logo: %w", err)
		}
	}
	return i, nil
}
