package profile

import (
	"context"
	"fmt"
	"strings"

	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// Settings are a partner's choices for its integration, besides its URLs.
type Settings struct {
	Brand            string
	Strict           bool
	SingleKey        bool
	InitiateLoginURI string
	IDTokenAlg       string
	ErrorMember      bool
}

// SettingsOf returns the settings of a partner.
func SettingsOf(p partner.Partner, f Profile) Settings {
	return Settings{
		Brand: p.Brand, Strict: p.Strict, SingleKey: p.SingleKey,
		InitiateLoginURI: f.InitiateLoginURI, IDTokenAlg: f.IDTokenAlg, ErrorMember: !f.NoErrorMember,
	}
}

// SettingsChange changes settings; nil leaves one unchanged.
type SettingsChange struct {
	Partner    partner.Change // brand, strictness, single key
	Connection Connection

	// Was has the settings that the sender saw: if they have changed since, ChangeSettings refuses.
	// nil: not checked.
	Was *Settings
}

// ChangeSettings changes a partner's settings in one transaction. A change of the single
// key replaces secrets.
func (b *Store) ChangeSettings(
	ctx context.Context,
	by audit.Actor,
	partnerID int64,
	c SettingsChange,
) (Settings, partner.Issued, error) {
	if err := c.Partner.Valid(); err != nil {
		return Settings{}, partner.Issued{}, err
	}
	n, err := b.read(URLChange{Connection: c.Connection})
	if err != nil {
		return Settings{}, partner.Issued{}, err
	}
	var after Settings
	var issued partner.Issued
	err = b.DB.Write(ctx, func(tx *sqldb.Tx) error {
		if err := b.unchanged(ctx, tx, partnerID, c.Was); err != nil {
			return err
		}
		p, made, err := b.Partners.Amend(ctx, tx, by, partnerID, c.Partner)
		if err != nil {
			return err
		}
		f, err := b.setURLs(ctx, tx, by, partnerID, n)
		after = SettingsOf(p, f)
		issued = made
		return err
	})
	if err != nil {
		return Settings{}, partner.Issued{}, fmt.Errorf("change settings: %w", err)
	}
	return after, issued, nil
}

// unchanged locks the settings and refuses if they differ from was.
func (b *Store) unchanged(ctx context.Context, tx *sqldb.Tx, partnerID int64, was *Settings) error {
	if was == nil {
		return nil
	}
	p, err := b.Partners.LockRow(ctx, tx, partnerID)
	if err != nil {
		return err
	}
	f, err := lock(ctx, tx, partnerID)
	if err != nil {
		return err
	}
	if now := SettingsOf(p, f); now != *was {
		return fault.New(
			fault.Conflict,
			CodeSettingsChanged,
			"Another person has changed the settings since the page was shown: %s. Nothing was changed; look at the "+
				"settings as they are now, and decide again.",
			was.changes(now),
		)
	}
	return nil
}

// changes describes the differences.
func (s Settings) changes(now Settings) string {
	var list []string
	add := func(name string, old, now any) {
		if old != now {
			list = append(list, fmt.Sprintf("%s was %s and is %s", name, word(old), word(now)))
		}
	}
	add("the brand", s.Brand, now.Brand)
	add("strict delivery", s.Strict, now.Strict)
	add("the single key", s.SingleKey, now.SingleKey)
	add("initiate_login_uri", s.InitiateLoginURI, now.InitiateLoginURI)
	add("the signing algorithm", s.IDTokenAlg, now.IDTokenAlg)
	add("the error member", s.ErrorMember, now.ErrorMember)
	return strings.Join(list, "; ")
}

// word returns a setting's value for a sentence.
func word(v any) string {
	switch v {
	case true:
		return "on"
	case false:
		return "off"
	case "":
		return "not set"
	default:
		return fmt.Sprint(v)
	}
}
