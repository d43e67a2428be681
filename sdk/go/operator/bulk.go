package operator

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"claviger/sdk/go/internal/rest"
)

func bulkPath(id int64, rest string) string { return base + "bulk/" + strconv.FormatInt(id, 10) + rest }

// PrepareBulkAct computes the effect of an action on everything that matches a filter. Nothing
// changes before StartBulkAct.
func (c *Client) PrepareBulkAct(ctx context.Context, o BulkOrder) (BulkAct, error) {
	return post[BulkAct](ctx, c, base+"bulk", o)
}

// BulkActs lists all bulk actions, page by page, newest first.
func (c *Client) BulkActs(ctx context.Context) iter.Seq2[BulkAct, error] {
	return rest.All[BulkAct](ctx, c.rest, base+"bulk")
}

// BulkAct returns a bulk action and its progress.
func (c *Client) BulkAct(ctx context.Context, id int64) (BulkAct, error) {
	return get[BulkAct](ctx, c, bulkPath(id, ""))
}

// BulkRows lists the rows of a bulk action, page by page: all, or those with a result.
func (c *Client) BulkRows(ctx context.Context, id int64, result string) iter.Seq2[BulkRow, error] {
	return rest.All[BulkRow](ctx, c.rest, rest.Target(bulkPath(id, "/rows"), url.Values{"result": {result}}))
}

// LeaveOutBulkRows excludes rows from a prepared action, by their positions.
func (c *Client) LeaveOutBulkRows(ctx context.Context, id int64, positions ...int64) (BulkAct, error) {
	return post[BulkAct](ctx, c, bulkPath(id, "/leave-out"), BulkPositions{positions})
}

// PutBackBulkRows includes excluded rows again.
func (c *Client) PutBackBulkRows(ctx context.Context, id int64, positions ...int64) (BulkAct, error) {
	return post[BulkAct](ctx, c, bulkPath(id, "/put-back"), BulkPositions{positions})
}

// StartBulkAct confirms a prepared action, which then runs in the background.
func (c *Client) StartBulkAct(ctx context.Context, id int64) (BulkAct, error) {
	return post[BulkAct](ctx, c, bulkPath(id, "/start"), nil)
}

// PauseBulkAct pauses it before its next row.
func (c *Client) PauseBulkAct(ctx context.Context, id int64) (BulkAct, error) {
	return post[BulkAct](ctx, c, bulkPath(id, "/pause"), nil)
}

// ResumeBulkAct continues it.
func (c *Client) ResumeBulkAct(ctx context.Context, id int64) (BulkAct, error) {
	return post[BulkAct](ctx, c, bulkPath(id, "/resume"), nil)
}

// CancelBulkAct ends it. Rows that are done stay done.
func (c *Client) CancelBulkAct(ctx context.Context, id int64) (BulkAct, error) {
	return post[BulkAct](ctx, c, bulkPath(id, "/cancel"), nil)
}
