package profile

import (
	"context"
	"fmt"
	"time"

	"claviger/internal/sqldb"
)

// Lacking lists the missing parts of a partner's profile.
type Lacking struct {
	PartnerID        int64
	Contacts         bool // it has no contacts
	Redirect         bool // it has no redirect URL
	WebhookUnproven  bool // it has a webhook URL that was never validated
	RedirectUnproven bool
	CertificateUntil time.Time // of the webhook URL, if it ends before the given time
}

// lacking reads each profile, one per partner, and looks for its contacts.
const lacking = `SELECT l.partner_id, l.contacts, l.redirect, l.webhook_unproven, l.redirect_unproven, l.until FROM (
		SELECT p.partner_id, NOT EXISTS (SELECT 1 FROM contacts AS c
		WHERE c.partner_id = p.partner_id) AS contacts, p.redirect_url = '' AS redirect,
			p.webhook_url <> '' AND p.webhook_valid_at = 0 AS webhook_unproven, p.redirect_url <> ''
			AND p.redirect_valid_at = 0 AS redirect_unproven,
			CASE WHEN p.webhook_url <> '' AND p.certificate_until < $1 THEN p.certificate_until ELSE 0 END AS until
		FROM profiles AS p) AS l
	WHERE l.contacts OR l.redirect OR l.webhook_unproven OR l.redirect_unproven OR l.until <> 0 ORDER BY l.partner_id
	LIMIT $2`

// ListLacking returns the profiles that lack something, by partner, at most limit. Certificates
// that end before a time count as missing.
func ListLacking(ctx context.Context, r sqldb.Reader, certificates time.Time, limit int) ([]Lacking, error) {
	list, err := sqldb.All(ctx, r, func(r *sqldb.Row, l *Lacking) error {
		return r.Scan(
			&l.PartnerID,
			&l.Contacts,
			&l.Redirect,
			&l.WebhookUnproven,
			&l.RedirectUnproven,
			&l.CertificateUntil,
		)
	}, lacking, certificates, limit)
	if err != nil {
		return nil, fmt.Errorf("list what profiles lack: %w", err)
	}
	return list, nil
}
