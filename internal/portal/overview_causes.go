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

// The bounds of the page: how many acts are read, how many causes and entries shown.
const (
	maxActs     = 200
	shownCauses = 5
	shownEvents = 30
)

// justBefore is how long before the first failure an act may be its reason.
const justBefore = 30 * time.Minute

// changesDelivery are the acts that can break deliveries, or mend them.
var changesDelivery = map[string]bool{
	"partner.rotate": true, "partner.switch": true, "partner.revoke": true, "partner.update": true, "partner.pause": true, "partner.resume": true,
	"profile.urls": true, "endpoint.try": true,
}

// causesView is the failed deliveries by what stands in their way.
type causesView struct {
	Title  string // such as "412 deliveries, one cause"
	Groups []causeView
	More   string // what is not shown, in words
}

// causeView is one cause.
type causeView struct {
	Deliveries string // such as "412 deliveries"
	Text       string // what they met, since when, and what was done right before
	Diagnosis  string
	List       string // the page with these deliveries
	Replay     string // the page that sends them again, "" if the person may not
}

// causesView groups what failed.
func (h *Handler) causesView(v *Visit, f overviewFacts) causesView {
	if len(f.causes) == 0 {
		return causesView{}
	}
	causes := f.causes
	var all int
	for _, c := range causes {
		all += c.Deliveries
	}
	number, view := plural.Of(all, "delivery"), causesView{}
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
		text += fmt.Sprintf(", right after this at %s: %s", ui.InSentence(act.At), strings.TrimSuffix(act.Sentence(f.names), "."))
	}
	code := string(c.Cause)
	if c.Status != 0 {
		code = strconv.Itoa(c.Status)
	}
	query := "?" + url.Values{"state": {string(history.Failed)}, "code": {code}, "from": {c.Oldest.UTC().Truncate(time.Second).Format(time.RFC3339)}}.Encode()
	view := causeView{
		Deliveries: plural.Of(c.Deliveries, "delivery"),
		Text:       text + ".", Diagnosis: c.Diagnosis,
	}
	if h.serves("/deliveries") {
		view.List = v.Path("/deliveries") + query
	}
	if h.serves("/recover") && v.Covers(partner.Developer) {
		view.Replay = v.Path("/recover") + query
	}
	return view
}

// serves reports whether the portal has a page.
func (h *Handler) serves(path string) bool {
	return slices.ContainsFunc(h.Table(), func(rt Route) bool { return rt.Kind == Page && rt.Path == path })
}

// before finds the last act shortly before a time. If the endpoint took something after
// the act and before that time, the act did not break it.
func before(acts []audit.Entry, t, taken time.Time) (audit.Entry, bool) {
	for _, e := range acts { // the newest first
		if e.At.Before(taken) && !taken.After(t) {
			break
		}
		if e.Action != "endpoint.try" && !e.At.After(t) && t.Sub(e.At) <= justBefore {
			return e, true
		}
	}
	return audit.Entry{}, false
}

// run is failures of one status that went on from hour to hour.
type run struct {
	Status  int
	FirstAt time.Time
	LastAt  time.Time
	Count   int64
}

// runs joins the failures of hours that follow one another. Those of a status come in the
// order of their times.
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

// timeline shows failures and what was done, in one order, the newest first.
func timeline(f overviewFacts) ui.Timeline {
	t := ui.Timeline{Label: "Failures and what was done"}
	for _, r := range runs(f.numbers.Failures) {
		t.Entries = append(t.Entries, ui.TimelineEntry{
			At: r.FirstAt, Title: upperFirst(statusWords(r.Status)), Status: "failed",
			Text: plural.Of(r.Count, "failed attempt") + ", the last at " + ui.InSentence(r.LastAt) + ".",
		})
	}
	for _, e := range f.acts {
		t.Entries = append(t.Entries, ui.TimelineEntry{At: e.At, Title: e.Sentence(f.names), Text: "By " + lowerThe(origin(e, f.names)) + "."})
	}
	slices.SortStableFunc(t.Entries, func(a, b ui.TimelineEntry) int { return b.At.Compare(a.At) })
	if len(t.Entries) > shownEvents {
		t.Entries = t.Entries[:shownEvents]
	}
	return t
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// lowerThe is a name of somebody inside a sentence.
func lowerThe(s string) string {
	for _, begin := range []string{"The ", "A "} {
		if rest, ok := strings.CutPrefix(s, begin); ok {
			return strings.ToLower(begin) + rest
		}
	}
	return s
}
