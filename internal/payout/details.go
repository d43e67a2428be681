package payout

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"claviger/internal/account"
	"claviger/internal/audit"
	"claviger/internal/fault"
	"claviger/internal/ledger"
	"claviger/internal/mail"
	"claviger/internal/partner"
	"claviger/internal/sealing"
	"claviger/internal/sqldb"
	"claviger/internal/validate"
)

// MaxDetails is the maximum length of payout details, in characters.
const MaxDetails = 1000

// DetailsRest is the time from a change of payout details until a run uses them. The admins of the
// partner get an email, so that they notice a change by someone else.
const DetailsRest = 48 * time.Hour

// Details are the payout details of a partner.
type Details struct {
	ID        int64
	PartnerID int64
	UserID    int64  // the author
	Masked    string // all but the last characters are hidden; "": removed
	UsableAt  time.Time
	CreatedAt time.Time
}

// Given reports whether there are details.
func (d Details) Given() bool { return d.Masked != "" }

// stored is a row of payout details.
type stored struct {
	Details
	sealed string
}

const detailsColumns = `id, partner_id, user_id, sealed, created_at`

func scanDetails(r *sqldb.Row, d *stored) error {
	err := r.Scan(&d.ID, &d.PartnerID, &d.UserID, &d.sealed, &d.CreatedAt)
	d.UsableAt = d.CreatedAt.Add(DetailsRest)
	return err
}

// detailsLabel binds sealed details to their partner.
func detailsLabel(partnerID int64) string { return detailsLabelOf(strconv.FormatInt(partnerID, 10)) }

func detailsLabelOf(partnerID string) string { return "payout details of partner " + partnerID }

// Sealed returns the column of sealed payout details.
func Sealed() sealing.Column {
	return sealing.Column{
		Name: "payout details", First: "0",
		Page: `SELECT CAST(id AS text), CAST(partner_id AS text), sealed FROM payout_details
			WHERE id > CAST(CAST($1 AS text) AS bigint) AND sealed <> '' ORDER BY payout_details.id LIMIT $2`,
		Save:  `UPDATE payout_details SET sealed = $3 WHERE id = CAST(CAST($1 AS text) AS bigint) AND sealed = $2`,
		Label: detailsLabelOf,
	}
}

// currentDetails returns the newest payout details of partners; a partner that never entered any is missing.
func currentDetails(ctx context.Context, r sqldb.Reader, partners []int64) (map[int64]stored, error) {
	list, err := sqldb.All(ctx, r, scanDetails, `SELECT `+detailsColumns+` FROM payout_details
		WHERE id IN (SELECT max(id) FROM payout_details WHERE partner_id = ANY($1) GROUP BY partner_id)`, partners)
	if err != nil {
		return nil, fmt.Errorf("read payout details: %w", err)
	}
	of := make(map[int64]stored, len(list))
	for _, d := range list {
		of[d.PartnerID] = d
	}
	return of, nil
}

// Details returns the payout details of a partner, masked. The zero value means that it never entered any.
func (s *Store) Details(ctx context.Context, partnerID int64) (Details, error) {
	of, err := currentDetails(ctx, s.DB, []int64{partnerID})
	if err != nil {
		return Details{}, err
	}
	return s.masked(of[partnerID])
}

// masked opens details and hides most of them.
func (s *Store) masked(d stored) (Details, error) {
	text, err := s.open(d)
	d.Masked = mask(text)
	return d.Details, err
}

// open returns the text of details; "": there are none.
func (s *Store) open(d stored) (string, error) {
	if d.sealed == "" {
		return "", nil
	}
	text, err := s.Sealer.Open(detailsLabel(d.PartnerID), d.sealed)
	if err != nil {
		return "", fmt.Errorf("open the payout details of partner %d: %w", d.PartnerID, err)
	}
	return text, nil
}

// shownEnd is the number of letters and digits at the end of details that people see.
const shownEnd = 4

// mask hides all letters and digits but the last ones, and all of a short text.
func mask(text string) string {
	runes := []rune(text)
	var at []int
	for i, r := range runes {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			at = append(at, i)
		}
	}
	hidden := len(at) - shownEnd
	if hidden < shownEnd {
		hidden = len(at)
	}
	for _, i := range at[:hidden] {
		runes[i] = '•'
	}
	return string(runes)
}

// SetDetails stores the payout details of a partner; "" removes them. user is an admin of the partner; the
// caller has checked that they signed in just now. All admins of the partner get an email. The same
// details again change nothing.
func (s *Store) SetDetails(
	ctx context.Context, by audit.Actor, partnerID int64, user account.User, text string,
) (d Details, err error) {
	text, err = validate.Text("details", text, MaxDetails)
	if err != nil {
		return Details{}, err
	}
	err = s.DB.Write(ctx, func(tx *sqldb.Tx) error {
		d, err = s.setDetails(ctx, tx, by, stored{Details: Details{PartnerID: partnerID, UserID: user.ID}}, text)
		return err
	})
	if err != nil {
		return Details{}, fmt.Errorf("set payout details: %w", err)
	}
	return d, nil
}

func (s *Store) setDetails(
	ctx context.Context, tx *sqldb.Tx, by audit.Actor, d stored, text string,
) (Details, error) {
	if err := ledger.Lock(ctx, tx, d.PartnerID); err != nil {
		return Details{}, err
	}
	role, err := partner.RoleOf(ctx, tx, d.PartnerID, d.UserID)
	if err != nil {
		return Details{}, err
	}
	if role != partner.Admin {
		return Details{}, fault.New(fault.Forbidden, codeNotPartnersAdmin,
			"Only an admin of the partner changes the payout details. Ask one of them.")
	}
	of, err := currentDetails(ctx, tx, []int64{d.PartnerID})
	if err != nil {
		return Details{}, err
	}
	was := of[d.PartnerID]
	old, err := s.open(was)
	if err != nil {
		return Details{}, err
	}
	if text == old {
		return s.masked(was)
	}
	if text != "" {
		d.sealed = s.Sealer.Seal(detailsLabel(d.PartnerID), text)
	}
	now := s.Now()
	d, err = sqldb.One(ctx, tx, scanDetails, `INSERT INTO payout_details (partner_id, user_id, sealed, created_at)
		VALUES ($1, $2, $3, $4) RETURNING `+detailsColumns, d.PartnerID, d.UserID, d.sealed, now)
	if err != nil {
		return Details{}, fmt.Errorf("store payout details: %w", err)
	}
	audit.Record(tx, now, by, "partner.payout_details", fmt.Sprintf("partner:%d", d.PartnerID), nil, audit.Facts{
		"details_id": d.ID, "removed": text == "",
	})
	changed, err := s.masked(d)
	if err != nil {
		return Details{}, err
	}
	return changed, s.tellAdmins(ctx, tx, changed)
}

// tellAdmins queues an email about changed details to each admin of the partner.
func (s *Store) tellAdmins(ctx context.Context, tx *sqldb.Tx, d Details) error {
	admins, err := partner.Admins(ctx, tx, d.PartnerID)
	if err != nil {
		return err
	}
	users, err := account.ByID(ctx, tx, append(admins, d.UserID))
	if err != nil {
		return err
	}
	partners, err := partner.ByID(ctx, tx, []int64{d.PartnerID})
	if err != nil {
		return err
	}
	var list []mail.Message
	for _, id := range admins {
		u := users[id]
		if u.Email == "" {
			continue
		}
		text, html := s.Mail.Render(s.detailsChanged(d, partners[d.PartnerID].Name, users[d.UserID]))
		list = append(list, mail.Message{
			Cause: fmt.Sprintf("payout details %d to user %d", d.ID, id), To: u.Email,
			Subject: "The payout details of " + partners[d.PartnerID].Name + " changed",
			Text:    text, HTML: html, Lasting: true,
		})
	}
	s.Mail.PutAll(tx, d.CreatedAt, list...)
	return nil
}

// detailsChanged returns the email about changed details. It quotes none of them.
func (s *Store) detailsChanged(d Details, name string, by account.User) mail.Content {
	who := "Someone"
	if by.Email != "" {
		who = by.Email
	}
	c := mail.Content{
		Title: "The payout details of " + name + " changed",
		Hello: "Hello,",
		Opening: []string{fmt.Sprintf("%s entered new payout details. Payouts use them from %s on.", who,
			d.UsableAt.UTC().Format("2 January 2006, 15:04 UTC"))},
		Closing: []string{fmt.Sprintf("If this is wrong, change them back before then, and tell %s.", s.Marketplace)},
		Button: mail.Link{
			Name: "See the payout details",
			URL:  fmt.Sprintf("%s/portal/%d/payout-details", s.PublicURL, d.PartnerID),
		},
		Foot: fmt.Sprintf("You're receiving this because you are an admin of %s at %s.", name, s.Marketplace),
	}
	if !d.Given() {
		c.Opening = []string{
			who + " removed the payout details. Until someone enters new ones, payouts leave you out.",
		}
	}
	return c
}

// textsOf returns the texts of payout details by their id, for the bank.
func (s *Store) textsOf(ctx context.Context, r sqldb.Reader, ids []int64) (map[int64]string, error) {
	list, err := sqldb.All(ctx, r, scanDetails, `SELECT `+detailsColumns+` FROM payout_details
		WHERE id = ANY($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("read payout details: %w", err)
	}
	texts := make(map[int64]string, len(list))
	for _, d := range list {
		text, err := s.open(d)
		if err != nil {
			return nil, err
		}
		if strings.TrimSpace(text) == "" {
			return nil, errors.New("a payout has no details")
		}
		texts[d.ID] = text
	}
	return texts, nil
}
