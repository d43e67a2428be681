package ui

import (
	"bytes"
	"html/template"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones for systems without them

	"claviger/internal/fault"
)

// People read times in the zone of their browser. app.js sends it in a cookie, so without scripts
// times are in UTC. People who prefer UTC have another cookie, set by the switch in the footer.
const (
	zoneCookie  = "claviger-zone"  // the browser's zone, such as Europe/Berlin
	timesCookie = "claviger-times" // "utc" for people who prefer UTC
)

// TimesPath is the target of the switch between UTC and the browser's zone.
const TimesPath = "/times"

// zoneName matches names of zones.
var zoneName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]{0,30}(/[A-Za-z0-9_+-]{1,30}){0,2}$`)

// zones caches the used zones. There are about 600, so it stays small.
var zones sync.Map

// loadZone returns the zone with a name, nil if there is none.
func loadZone(name string) *time.Location {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location)
	}
	if !zoneName.MatchString(name) || name == "Local" {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	zones.Store(name, zone)
	return zone
}

// browserZone returns the zone from the browser's cookie, nil if there is none.
func browserZone(r *http.Request) *time.Location {
	c, err := r.Cookie(zoneCookie)
	if err != nil {
		return nil
	}
	return loadZone(strings.ReplaceAll(c.Value, "%2F", "/"))
}

func prefersUTC(r *http.Request) bool {
	c, err := r.Cookie(timesCookie)
	return err == nil && c.Value == "utc"
}

// Zone returns the zone in which the requesting person reads times. Charts and filters use it too.
func Zone(r *http.Request) *time.Location {
	if zone := browserZone(r); zone != nil && !prefersUTC(r) {
		return zone
	}
	return time.UTC
}

// SetTimes stores the preferred zone of a person: "utc", or that of the browser.
func (p *Pages) SetTimes(w http.ResponseWriter, zone string) {
	c := &http.Cookie{
		Name: timesCookie, Value: "local", Path: "/", MaxAge: 365 * 24 * 60 * 60,
		SameSite: http.SameSiteLaxMode, Secure: strings.HasPrefix(p.PublicURL, "https://"), HttpOnly: true,
	}
	if zone == "utc" {
		c.Value = "utc"
	}
	http.SetCookie(w, c)
}

// Times is the text about times in the footer, and the switch.
type Times struct {
	Zone   string // zone of shown times
	Switch string // value that the switch sends; "" without a switch
	Label  string // of the switch
}

func timesOf(r *http.Request) Times {
	t := Times{Zone: Zone(r).String()}
	switch own := browserZone(r); {
	case own == nil || own.String() == "UTC":
	case prefersUTC(r):
		t.Switch, t.Label = "local", "Show times in "+own.String()
	default:
		t.Switch = "utc"
		t.Label = "Show times in UTC"
	}
	return t
}

// Layouts of times, by the value of data-as. In another zone, "UTC" is replaced by its name.
var layouts = map[string]string{
	"minute": "2 Jan 2006, 15:04 UTC",
	"second": "2 Jan 2006, 15:04:05 UTC",
	"clock":  "15:04 UTC",
	"day":    "2 January 2006",
}

// moment formats a time to the minute, exact to the second, and day as a date. All are empty for
// the zero time. Templates write UTC; inZone converts it to the person's zone when the page is
// sent.
func moment(t time.Time) template.HTML { return timeTag(t, "minute") }

func exact(t time.Time) template.HTML { return timeTag(t, "second") }

func day(t time.Time) template.HTML { return timeTag(t, "day") }

func timeTag(t time.Time, as string) template.HTML {
	return template.HTML(appendTime(make([]byte, 0, 128), t, as)) //nolint:gosec // times need no escaping
}

func appendTime(b []byte, t time.Time, as string) []byte {
	if t.IsZero() {
		return b
	}
	t = t.UTC()
	from := len(b) + len(timeBegins)
	b = t.AppendFormat(append(b, timeBegins...), time.RFC3339)
	day := b[from : from+len(time.DateOnly)]
	clock := b[len(b)-len("15:04:05Z") : len(b)-1]
	b = append(append(append(append(b, timeAs...), as...), timeTitle...), day...)
	b = append(append(append(append(b, ' '), clock...), " UTC"...), timeText...)
	return append(appendShown(b, t, as, clock), timeEnds...)
}

// appendShown writes a time in UTC by one of the layouts. The layouts of rows are written by hand,
// because each row of a list has two or three times. clock is the time of day.
func appendShown(b []byte, t time.Time, as string, clock []byte) []byte {
	switch as {
	case "minute":
		clock = clock[:len("15:04")]
	case "second":
	default:
		return t.AppendFormat(b, layouts[as])
	}
	year, month, day := t.Date()
	b = append(strconv.AppendInt(b, int64(day), 10), ' ')
	b = append(append(b, month.String()[:len("Jan")]...), ' ')
	b = append(strconv.AppendInt(b, int64(year), 10), ", "...)
	return append(append(b, clock...), " UTC"...)
}

// Text that appendTime writes between its values. No other output can look like it: templates
// escape "<" in values.
const (
	timeBegins = `<time datetime="`
	timeAs     = `" data-as="`
	timeTitle  = `" title="`
	timeText   = `">`
	timeEnds   = `</time>`
)

// inZone converts the times of a page to a zone.
func inZone(page []byte, zone *time.Location) []byte {
	if zone == time.UTC {
		return page
	}
	out := make([]byte, 0, len(page)+1024)
	for {
		before, rest, found := bytes.Cut(page, []byte(timeBegins))
		out = append(out, before...)
		if !found {
			return out
		}
		out = append(out, timeBegins...)
		page = rest
		at, rest, _ := bytes.Cut(rest, []byte(timeAs))
		as, rest, _ := bytes.Cut(rest, []byte(timeTitle))
		title, rest, _ := bytes.Cut(rest, []byte(timeText))
		_, rest, found = bytes.Cut(rest, []byte(timeEnds))
		t, err := time.Parse(time.RFC3339, string(at))
		if layout := layouts[string(as)]; found && err == nil && layout != "" {
			out = append(
				append(append(append(append(append(out, at...), timeAs...), as...), timeTitle...), title...),
				timeText...)
			out = append(t.In(zone).AppendFormat(out, strings.ReplaceAll(layout, "UTC", "MST")), timeEnds...)
			page = rest
		}
	}
}

// FormatTime formats a time by a layout, for labels of charts. UTC in the layout becomes the zone's
// name.
func FormatTime(t time.Time, layout string) string {
	return t.Format(strings.ReplaceAll(layout, "UTC", "MST"))
}

// inputTime is the layout of an input of type datetime-local.
const inputTime = "2006-01-02T15:04"

// SetTime sets a time as the value of an input of type datetime-local; the zero time clears it. The
// summary of active filters names the zone.
func (f *Field) SetTime(r *http.Request, t time.Time) {
	f.Value = ""
	f.Said = ""
	if !t.IsZero() {
		t = t.In(Zone(r))
		f.Value, f.Said = t.Format(inputTime), FormatTime(t, layouts["minute"])
	}
}

// InUTC returns the URL of a request with the times of its filters in UTC, "" if they already are.
// A form sends them in the person's zone, but others may open the URL.
func InUTC(r *http.Request) string {
	if !strings.Contains(r.URL.RawQuery, "from=") && !strings.Contains(r.URL.RawQuery, "to=") {
		return ""
	}
	q := r.URL.Query()
	changed := false
	for _, name := range []string{"from", "to"} {
		at, err := QueryTime(r, name)
		if err != nil || at.IsZero() || strings.HasSuffix(q.Get(name), "Z") {
			continue
		}
		q.Set(name, at.Format(time.RFC3339))
		changed = true
	}
	if !changed {
		return ""
	}
	return r.URL.EscapedPath() + "?" + q.Encode()
}

// QueryTime reads a time from the query. An input of type datetime-local sends it in the person's
// zone; a time with a zone, as in a link, keeps it. An empty value is the zero time.
func QueryTime(r *http.Request, name string) (time.Time, error) {
	return readTime(r, name, strings.TrimSpace(r.URL.Query().Get(name)))
}

// FormTime reads a time from a form, like QueryTime.
func FormTime(r *http.Request, name string) (time.Time, error) {
	return readTime(r, name, FormText(r, name))
}

func readTime(r *http.Request, name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), nil
	}
	for _, layout := range []string{inputTime, inputTime + ":05", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, Zone(r)); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fault.Field(name, "must be a time, such as 2026-11-16T14:00 or 2026-11-16T14:00:00Z.")
}
