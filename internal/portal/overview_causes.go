package portal

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"claviger/internal/audit"
	"claviger/internal/partner"
	"claviger/internal/plural"
	"claviger/internal/stats"
	"claviger/internal/ui"
	"claviger/internal/webhook/history"
)

// Limits of the page: acts read, causes shown, entries shown.
const (
	maxActs     = 200
	shownCauses = 5
	shownEvents = 30
)

// justBefore is the longest time between an act and the first failure that it may have caused.
const justBefore = 30 * time.Minute

// changesDelivery are the acts that can break or fix deliveries.
var changesDelivery = map[string]bool{
	"partner.rotate": true, "partner.switch": true, "partner.revoke": true, "partner.update": true,
	"partner.pause": true, "partner.resume": true,
	"profile.urls": true, "endpoint.try": true,
}

// causesView groups failed deliveries by cause.
type causesView struct {
	Title  string // such as "412 deliveries, one cause"
	Groups []causeView
	More   string // note on deliveries or causes that are not shown
}

// causeView is one cause.
type causeView struct {
	Deliveries string // such as "412 deliveries"
	Text       string // the error, its start, and the act right before it
	Diagnosis  string
	List       string // the page with these deliveries
	Redeliver  string // the page that resends them, "" if the person may not
}

// causesView groups the failures.
func (h *Handler) causesView(v *Visit, f overviewFacts) causesView {
	if len(f.causes) == 0 {
		return causesView{}
	}
	causes := f.causes
	var all int
	for _, c := range causes {
		all += c.Deliveries
	}
	number := plural.Of(all, "delivery")
	view := causesView{}
	if f.more {
		number = "More than " + number
		view.More = fmt.Sprintf("The newest %s are grouped; there are older ones.", ui.Count(int64(all)))
	}
	view.Title = number + ", one cause"
	if len(causes) > 1 {
		view.Title = number + ", " + plural.Of(len(causes), "cause")
	}
	if len(causes) > shownCauses {
		causes = causes[:shownCauses]
		view.More = strings.TrimSpace("The largest groups are shown. " + view.More)
	}
	for _, c := range causes {
		view.Groups = append(view.Groups, h.causeView(v, f, c))
	}
	return view
}

func (h *Handler) causeView(v *Visit, f overviewFacts, c history.Cause) causeView {
	since := c.Oldest
	for _, run := range runs(f.numbers.Failures) {
		if run.Status == c.Status && !run.LastAt.Before(c.Oldest) {
			since = run.FirstAt
		}
	}
	text := statusWords(c.Status)
	if c.Status == 0 && c.Text != "" {
		text = "no answer: " + strings.TrimSuffix(c.Text, ".")
	}
	text += " since " + ui.InSentence(since)
	if act, ok := before(f.acts, since, f.health.LastSuccessAt); ok {
		text += fmt.Sprintf(
			", right after this at %s: %s", ui.InSentence(act.At), strings.TrimSuffix(act.Sentence(f.names), "."),
		)
	}
	code := string(c.Cause)
	if c.Status != 0 {
		code = strconv.Itoa(c.Status)
	}
	query := "?" + url.Values{
		"state": {string(history.Failed)},
		"code":  {code},
		"from":  {c.Oldest.UTC().Truncate(time.Second).Format(time.RFC3339)},
	}.Encode()
	view := causeView{Deliveries: plural.Of(c.Deliveries, "delivery"), Text: text + ".", Diagnosis: c.Diagnosis}
	view.List = v.Path(deliveriesPath) + query
	if v.Covers(partner.Developer) {
		view.Redeliver = v.Path("/recover") + query
	}
	return view
}

// before finds the last act shortly before t. An act before the last accepted delivery (taken) did
// not break the endpoint.
func before(acts []audit.Entry, t, taken time.Time) (audit.Entry, bool) {
	for _, e := range acts { // newest first
		if e.At.Before(taken) && !taken.After(t) {
			break
		}
		if e.Action != "endpoint.try" && !e.At.After(t) && t.Sub(e.At) <= justBefore {
			return e, true
		}
	}
	return audit.Entry{}, false
}

// run is a series of failures with one status in consecutive hours.
type run struct {
	Status  int
	FirstAt time.Time
	LastAt  time.Time
	Count   int64
}

// runs joins the failures of consecutive hours. Those of one status are ordered by time.
func runs(failures []stats.Failures) []run {
	var list []run
	open := map[int]int{} // the last run of a status
	for _, f := range failures {
		i, ok := open[f.Status]
		if ok && f.FirstAt.Sub(list[i].LastAt) <= time.Hour {
			list[i].LastAt = f.LastAt
			list[i].Count += f.Count
			continue
		}
		open[f.Status] = len(list)
		list = append(list, run{f.Status, f.FirstAt, f.LastAt, f.Count})
	}
	return list
}

// timeline lists failures and acts together, newest first.
func timeline(f overviewFacts) ui.Timeline {
	t := ui.Timeline{Label: "Failures and what was done"}
	for _, r := range runs(f.numbers.Failures) {
		t.Entries = append(t.Entries, ui.TimelineEntry{
			At: r.FirstAt, Title: upperFirst(statusWords(r.Status)), Status: "failed",
			Text: plural.Of(r.Count, "failed attempt") + ", the last at " + ui.InSentence(r.LastAt) + ".",
		})
	}
	for _, e := range f.acts {
		t.Entries = append(
			t.Entries,
			ui.TimelineEntry{At: e.At, Title: e.Sentence(f.names), Text: "By " + lowerThe(origin(e, f.names)) + "."},
		)
	}
	slices.SortStableFunc(t.Entries, func(a, b ui.TimelineEntry) int { return b.At.Compare(a.At) })
	if len(t.Entries) > shownEvents {
		t.Entries = t.Entries[:shownEvents]
	}
	return t
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// lowerThe lowercases the article of a name for use inside a sentence.
func lowerThe(s string) string {
	for _, begin := range []string{"The ", "A "} {
		if rest, ok := strings.CutPrefix(s, begin); ok {
			return strings.ToLower(begin) + rest
		}
	}
	return s
}
