package operator

import (
	"context"
	"iter"
	"net/url"
	"strconv"

	"claviger/sdk/go/internal/rest"
)

func bulkPath(id int64, rest string) string { return base + "bulk/" + strconv.FormatInt(id, 10) + rest }

// PrepareBulkAct finds out what an act would do to all that a filter means. Nothing is
// done before StartBulkAct.
func (c *Client) PrepareBulkAct(ctx context.Context, o BulkOrder) (BulkAct, error) {
	return post[BulkAct](ctx, c, base+"bulk", o)
}

// BulkActs lists bulk acts to the end, page by page, the newest first.
func (c *Client) BulkActs(ctx context.Context) iter.Seq2[BulkAct, error] {
	return rest.All[BulkAct](ctx, c.rest, base+"bulk")
}

// BulkAct says what a bulk act does and how far it is.
func (c *Client) BulkAct(ctx context.Context, id int64) (BulkAct, error) {
	return get[BulkAct](ctx, c, bulkPath(id, ""))
}

// BulkRows lists the rows of a bulk act to the end, page by page: all, or those with a
// result.
func (c *Client) BulkRows(ctx context.Context, id int64, result string) iter.Seq2[BulkRow, error] {
	return rest.All[BulkRow](ctx, c.rest, rest.Target(bulkPath(id, "/rows"), url.Values{"result": {result}}))
}

// LeaveOutBulkRows leaves rows out of a prepared act, by their positions.
func (c *Client) LeaveOutBulkRows(ctx context.Context, id int64, positions ...int64) (BulkAct, error) {
	return post[BulkAct](ctx, c, bulkPath(id, "/leave-out"), BulkPositions{positions})
}

// PutBackBulkRows puts rows back that were left out.
func (c *Client) PutBackBulkRows(ctx context.Context, id int64, positions ...int64) (BulkAct, error) {
	return post[BulkAct](ctx, c, bulkPath(id, "/put-back"), BulkPositions{positions})
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
