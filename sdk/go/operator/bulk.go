package operator

import (
	"context"
	"net/url"
	"strconv"

	"claviger/sdk/go/internal/rest"
)

// BulkOrder is an act on all that a filter means.
type BulkOrder struct {
	Act    string     `json:"act"`              // hold, reinstate, refund, reverse, redeliver, pause or resume
	Kind   string     `json:"kind,omitempty"`   // licenses, purchases, events or partners; "": what the act is done to usually
	Reason string     `json:"reason,omitempty"` // of a hold or a pause, or a note with refunds
	Filter BulkFilter `json:"filter"`
}

// BulkFilter is what is selected; the zero value means all. The description of the API
// says which kind has which.
type BulkFilter struct {
	PartnerID  int64  `json:"partner_id,omitempty"`
	Name       string `json:"name,omitempty"`
	LicenseKey string `json:"license_key,omitempty"`
	Email      string `json:"email,omitempty"`
	ExternalID string `json:"external_id,omitempty"`
	Status     string `json:"status,omitempty"`
	Tier       int    `json:"tier,omitempty"`
	State      string `json:"state,omitempty"`
	Event      string `json:"event,omitempty"`
	EventID    int64  `json:"event_id,omitempty"`
	StatusCode string `json:"status_code,omitempty"`
	From       string `json:"from,omitempty"` // RFC 3339
	To         string `json:"to,omitempty"`
}

// BulkAct is an act on many rows, and how far it is.
type BulkAct struct {
	BulkID     int64        `json:"bulk_id"`
	Act        string       `json:"act"`
	Kind       string       `json:"kind"`
	Reason     string       `json:"reason"`
	Selected   string       `json:"selected"`
	Status     string       `json:"status"` // checking, prepared, running, paused, stopped or done
	Stopped    string       `json:"stopped"`
	Rows       BulkCounts   `json:"rows"`
	Effects    []BulkEffect `json:"effects"` // not in lists
	CreatedAt  string       `json:"created_at"`
	StartedAt  string       `json:"started_at"`  // "" until it is started
	FinishedAt string       `json:"finished_at"` // "" until it is finished
}

// BulkCounts is how many rows there are, and what became of them.
type BulkCounts struct {
	Total     int64 `json:"total"`
	Checked   int64 `json:"checked"`
	Skipped   int64 `json:"skipped"`
	Succeeded int64 `json:"succeeded"`
	Refused   int64 `json:"refused"`
}

// BulkEffect is what happens to how many rows, or why they are skipped.
type BulkEffect struct {
	Rows int64  `json:"rows"`
	Will string `json:"will"`
	Code string `json:"code"`
	Why  string `json:"why"`
}

// BulkRow is one row of a bulk act.
type BulkRow struct {
	Position  int64  `json:"position"`
	SubjectID int64  `json:"subject_id"`
	Subject   string `json:"subject"`
	PartnerID int64  `json:"partner_id"`
	Was       string `json:"was"`
	Will      string `json:"will"`
	Result    string `json:"result"` // open, succeeded, refused or skipped
	Code      string `json:"code"`
	Message   string `json:"message"`
	DoneAt    string `json:"done_at"`
}

// BulkActList is a part of the bulk acts, the newest first.
type BulkActList struct {
	Size  int       `json:"size"`
	Items []BulkAct `json:"items"`
}

// BulkRowList is a part of the rows of a bulk act.
type BulkRowList struct {
	Size  int       `json:"size"`
	Items []BulkRow `json:"items"`
}

func bulkPath(id int64, rest string) string { return base + "bulk/" + strconv.FormatInt(id, 10) + rest }

// PrepareBulkAct finds out what an act would do to all that a filter means. Nothing is
// done before StartBulkAct.
func (c *Client) PrepareBulkAct(ctx context.Context, o BulkOrder) (BulkAct, error) {
	return post[BulkAct](ctx, c, base+"bulk", o)
}

// BulkActs lists bulk acts before one, the newest first; 0 begins with the newest.
func (c *Client) BulkActs(ctx context.Context, before int64) (BulkActList, error) {
	return get[BulkActList](ctx, c, rest.Target(base+"bulk", url.Values{"before": {rest.Number(before)}}))
}

// BulkAct says what a bulk act does and how far it is.
func (c *Client) BulkAct(ctx context.Context, id int64) (BulkAct, error) {
	return get[BulkAct](ctx, c, bulkPath(id, ""))
}

// BulkRows lists rows of a bulk act after a position: all, or those with a result.
func (c *Client) BulkRows(ctx context.Context, id, after int64, result string) (BulkRowList, error) {
	return get[BulkRowList](ctx, c, rest.Target(bulkPath(id, "/rows"), url.Values{"after": {rest.Number(after)}, "result": {result}}))
}

// StartBulkAct confirms a prepared act: it is done in the background.
func (c *Client) StartBulkAct(ctx context.Context, id int64) (BulkAct, error) {
	return post[BulkAct](ctx, c, bulkPath(id, "/start"), nil)
}

// PauseBulkAct has it wait before its next row.
func (c *Client) PauseBulkAct(ctx context.Context, id int64) (BulkAct, error) {
	return post[BulkAct](ctx, c, bulkPath(id, "/pause"), nil)
}

// ResumeBulkAct has it go on.
func (c *Client) ResumeBulkAct(ctx context.Context, id int64) (BulkAct, error) {
	return post[BulkAct](ctx, c, bulkPath(id, "/resume"), nil)
}

// CancelBulkAct ends it: what is done stays done.
func (c *Client) CancelBulkAct(ctx context.Context, id int64) (BulkAct, error) {
	return post[BulkAct](ctx, c, bulkPath(id, "/cancel"), nil)
}
