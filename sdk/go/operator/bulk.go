package operator

import (
	"context"
	"net/url"
	"strconv"

	"claviger/sdk/go/internal/rest"
)

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
