package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/bulk"
	"claviger/internal/fault"
	"claviger/internal/ui"
)

// tickName is the form field with the positions of the ticked rows.
const tickName = "position"

// chooseForm is the id of the form that the rows' boxes belong to.
const chooseForm = "choose-rows"

// seenJob returns the state that the page of a prepared job shows.
func seenJob(j bulk.Job) area.Seen {
	return area.Seen{
		Version: j.UpdatedAt.UTC().Format(time.RFC3339Nano),
		Facts:   []area.Fact{{Name: "The number of rows to do", Value: ui.Count(j.Left())}},
	}
}

// startSeen confirms a job if its rows are still those that the page showed.
func (b *Bulk) startSeen(r *http.Request, j bulk.Job) func(context.Context, audit.Actor, int64) (bulk.Job, error) {
	return func(ctx context.Context, by audit.Actor, _ int64) (bulk.Job, error) {
		if j.Status() == bulk.Prepared { // otherwise the domain returns the reason
			if err := seenJob(j).Unchanged(r); err != nil {
				return j, err
			}
		}
		return b.Jobs.StartAs(ctx, by, j)
	}
}

// ticked calls do with the ticked rows.
func ticked(
	r *http.Request, do func(context.Context, audit.Actor, int64, []int64) (bulk.Job, error),
) func(context.Context, audit.Actor, int64) (bulk.Job, error) {
	return func(ctx context.Context, by audit.Actor, id int64) (bulk.Job, error) {
		var positions []int64
		for _, value := range r.PostForm[tickName] {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < 1 {
				return bulk.Job{}, errIncompleteForm()
			}
			positions = append(positions, n)
		}
		if len(positions) == 0 {
			return bulk.Job{}, fault.New(
				fault.Invalid, area.CodeIncompleteForm, "No row is ticked. Go back and tick those that you mean.",
			)
		}
		return do(ctx, by, id, positions)
	}
}

// rowsQuery returns the query of the page of rows that a form was on.
func rowsQuery(r *http.Request) string {
	q := url.Values{}
	for _, name := range []string{"result", "after"} {
		if value := r.URL.Query().Get(name); value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// choices adds the boxes and their form to the rows of a prepared job.
func (b *Bulk) choices(r *http.Request, v *Visit, j bulk.Job, rows []bulk.Row, view *bulkJobView) {
	if j.Status() != bulk.Prepared || !v.May(j.Act.Scope()) {
		return
	}
	open := false
	out := false
	for i, row := range rows {
		if row.Result != bulk.Open && !row.LeftOut() {
			continue
		}
		open = open || row.Result == bulk.Open
		out = out || row.LeftOut()
		view.Table.Rows[i].Cells[0].Acts = &ui.RowActs{
			Tick: &ui.RowTick{
				Name:  tickName,
				Value: strconv.FormatInt(row.Position, 10),
				Form:  chooseForm,
				Of:    "Choose " + row.Subject,
			},
		}
	}
	if open {
		view.Choose = append(view.Choose, ui.Button{
			Label: "Leave out the ticked rows",
			Busy:  "Leaving out…",
			Kind:  "secondary",
			Name:  "do",
			Value: "leave_out",
		})
	}
	if out {
		view.Choose = append(view.Choose, ui.Button{
			Label: "Put the ticked rows back",
			Busy:  "Putting back…",
			Kind:  "secondary",
			Name:  "do",
			Value: "put_back",
		})
	}
	view.ChooseAt = v.Path("%s/%s/%d", bulkPath, j.Act, j.ID) + rowsQuery(r)
	view.ChooseForm = chooseForm
	call := b.call("Leave rows out by API", http.MethodPost, fmt.Sprintf("/operator/v1/bulk/%d/leave-out", j.ID))
	call.JSON = area.JSON(map[string]any{"positions": []int64{1, 2}})
	view.ChooseCall = &call
}
