package history

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"claviger/internal/courier"
	"claviger/internal/paging"
	"claviger/internal/sqldb"
)

// Embedded is the number of responses shown inside an event, and EmbeddedBody the bytes of each
// response body: a page of a hundred events has a thousand responses. Responses returns complete
// bodies.
const (
	Embedded     = 10
	EmbeddedBody = 1 << 10
)

// Response is the record of one attempt to deliver an event.
type Response struct {
	ID             int64
	EventID        int64
	Kind           int // an event.Kind, which this package does not import
	LicenseKey     string
	RequestHeader  string
	RequestBody    string
	ResponseStatus int // 0: no HTTP answer
	ResponseBody   string
	ResponseTime   int64 // milliseconds
	URL            string
	Success        bool
	Diagnosis      string // of a failed attempt: the likely mistake; may be ""
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// ResponseList is one page of responses.
type ResponseList struct {
	Responses []Response
	Total     int64 // -1: unknown because of a filter
	More      bool
}

const responseColumns = `r.id, r.event_id, d.kind, d.license_key, r.request_header, d.body, r.response_status,
	r.response_body,
	r.response_time, r.url, r.success, r.diagnosis, r.created_at, r.updated_at`

// embeddedColumns is responseColumns with the beginning of the body. A character has at least one
// byte, so it contains everything that can be shown.
var embeddedColumns = strings.Replace(
	responseColumns,
	`r.response_body`,
	`substr(r.response_body, 1, `+strconv.Itoa(EmbeddedBody)+`)`,
	1,
)

// scanResponse reads a row. Records of earlier versions contain control characters.
func scanResponse(r *sqldb.Row, v *Response) error {
	err := r.Scan(&v.ID, &v.EventID, &v.Kind, &v.LicenseKey, &v.RequestHeader, &v.RequestBody, &v.ResponseStatus,
		&v.ResponseBody, &v.ResponseTime, &v.URL, &v.Success, &v.Diagnosis, &v.CreatedAt, &v.UpdatedAt)
	v.ResponseBody = courier.Clean(v.ResponseBody, courier.MaxBody)
	return err
}

func scanEmbedded(r *sqldb.Row, v *Response) error {
	err := scanResponse(r, v)
	v.ResponseBody = courier.Clean(v.ResponseBody, EmbeddedBody)
	return err
}

// Responses lists the attempts for one license. A non-nil success selects only successful or only
// failed attempts.
func (r Reader) Responses(ctx context.Context, licenseID int64, success *bool, p paging.Page) (ResponseList, error) {
	order := "DESC"
	if p.Order == paging.OldestFirst {
		order = "ASC"
	}
	list := ResponseList{Total: -1}
	err := r.DB.Read(ctx, func(tx *sqldb.Tx) error {
		of := `FROM deliveries AS d JOIN webhook_responses AS r ON r.event_id = d.event_id WHERE d.license_id = $1`
		args := []any{licenseID, p.Limit + 1, p.Offset()}
		var total *sqldb.Result[int64]
		if success != nil {
			of += ` AND r.success = $4`
			args = append(args, *success)
		} else {
			total = sqldb.QueueQuery(tx, sqldb.Value[int64], `SELECT count(*) `+of, licenseID)
		}
		var err error
		list.Responses, err = sqldb.All(ctx, tx, scanResponse, `SELECT `+responseColumns+`
			FROM (SELECT r.id `+of+` ORDER BY r.id `+order+` LIMIT $2 OFFSET $3) AS page
			JOIN webhook_responses AS r ON r.id = page.id JOIN deliveries AS d ON d.event_id = r.event_id
			ORDER BY r.id `+order, args...)
		if err == nil && total != nil {
			list.Total, err = total.One(ctx)
		}
		return err
	})
	if err != nil {
		return ResponseList{}, fmt.Errorf("list webhook responses: %w", err)
	}
	if list.More = int64(len(list.Responses)) > p.Limit; list.More {
		list.Responses = list.Responses[:p.Limit]
	}
	return list, nil
}

// OfEvents returns the newest responses of each event, newest first, in a single statement. It
// returns at most Embedded per event and EmbeddedBody bytes of each body.
func OfEvents(ctx context.Context, tx *sqldb.Tx, eventIDs []int64) (map[int64][]Response, error) {
	found := map[int64][]Response{}
	if len(eventIDs) == 0 {
		return found, nil
	}
	list, err := sqldb.All(ctx, tx, scanEmbedded, `SELECT `+embeddedColumns+` FROM (
			SELECT id, row_number() OVER (PARTITION BY event_id ORDER BY id DESC) AS newest
			FROM webhook_responses WHERE event_id = ANY($1)) AS ranked
		JOIN webhook_responses AS r ON r.id = ranked.id
		JOIN deliveries AS d ON d.event_id = r.event_id
		WHERE ranked.newest <= `+strconv.Itoa(Embedded)+` ORDER BY r.event_id, r.id DESC`, eventIDs)
	if err != nil {
		return nil, fmt.Errorf("read the responses of events: %w", err)
	}
	for _, r := range list {
		found[r.EventID] = append(found[r.EventID], r)
	}
	return found, nil
}
