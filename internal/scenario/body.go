package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"

	"claviger/internal/fault"
)

// MaxBody is the maximum size in bytes of a test event's body.
const MaxBody = 16 << 10

// firstTestID is the lowest id that a test event can have: it comes from the clock.
const firstTestID = 1_600_000_000

// ForceTest makes a user's body fit to be sent: one JSON object with test set to true and
// everything else unchanged. It returns the body and the event id that the body names, if that is
// in the range of test events, otherwise the given id: a test must not use the webhook-id of a real
// event.
func ForceTest(body string, id int64) ([]byte, int64, error) {
	text := bytes.TrimSpace([]byte(body))
	refuse := func(why string) error { return fault.Field("body", "%s", why) }
	if len(text) > MaxBody {
		return nil, 0, fault.Field("body", "must have at most %d bytes.", MaxBody)
	}
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return nil, 0, refuse("must be one JSON object; check its quotes, commas and brackets.")
	}
	spans, err := valuesOf(text, "test")
	if err != nil {
		return nil, 0, refuse("must be one JSON object; check its quotes, commas and brackets.")
	}
	forced := make([]byte, 0, len(text)+len(`,"test":true`))
	done := 0
	for _, span := range spans {
		forced = append(append(forced, text[done:span[0]]...), "true"...)
		done = span[1]
	}
	forced = append(forced, text[done:]...)
	if len(spans) == 0 {
		forced = bytes.TrimRight(forced[:len(forced)-1], " \t\r\n")
		if forced[len(forced)-1] != '{' {
			forced = append(forced, ',')
		}
		forced = append(forced, `"test":true}`...)
	}
	if named := bodyOf(forced).EventID; named >= firstTestID && named <= id+int64((24*time.Hour)/time.Second) {
		id = named
	}
	return forced, id, nil
}

// valuesOf returns the start and end of each value of a member; a member may occur several times.
func valuesOf(object []byte, name string) ([][2]int, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var spans [][2]int
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if text, ok := key.(string); ok && strings.EqualFold(text, name) { // Go's decoder ignores case
			end := int(d.InputOffset())
			spans = append(spans, [2]int{end - len(value), end})
		}
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return spans, nil
}

// named contains the license data in a body.
type named struct {
	Key     string `json:"license_key"`
	Status  string `json:"license_status"`
	Tier    int    `json:"tier"`
	EventID int64  `json:"event_id"`
}

// bodyOf parses a body. It ignores members of another type.
func bodyOf(body []byte) named {
	var members map[string]json.RawMessage
	var n named
	if json.Unmarshal(body, &members) != nil {
		return n
	}
	for name, to := range map[string]any{
		"license_key": &n.Key, "license_status": &n.Status, "tier": &n.Tier,
		"event_id": &n.EventID,
	} {
		_ = json.Unmarshal(members[name], to) // ignore a member of another type
	}
	return n
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// licenseIn returns the test license of a body; its key is empty if the body names no valid
// license.
func licenseIn(body []byte, now time.Time) License {
	n := bodyOf(body)
	switch n.Status {
	case "inactive", "active", "deactivated":
	default:
		return License{}
	}
	if !uuid.MatchString(n.Key) || n.Tier < 1 || n.Tier > maxTier {
		return License{}
	}
	return License{Key: n.Key, Status: n.Status, Tier: n.Tier, CreatedAt: now, UpdatedAt: now}
}

// maxTier is the highest tier that a license can have.
const maxTier = 1000
