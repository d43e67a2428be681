package portal

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"claviger/internal/area"
	"claviger/internal/partner"
	"claviger/internal/plural"
	"claviger/internal/ui"
	"claviger/internal/webhook"
)

// endpointState describes the health of the partner's endpoint.
type endpointState struct {
	Badge string // ok, failed, waiting, paused
	Title string
	Text  []string
	Rule  []string // when it is parked and reopened, and how often an event is tried
	Try   string   // target of the button; "" without one
	Link  string   // page with the fix, and its label
	Label string
}

// endpointState describes the state of the endpoint.
func (h *Handler) endpointState(v *Visit, f overviewFacts) endpointState {
	at := ui.InSentence
	s := endpointState{Rule: h.parkingRule()}
	e := f.health
	switch {
	case v.Partner.Paused():
		s.Badge = "paused"
		s.Title = "Paused by the marketplace"
		s.Text = []string{
			"Nothing is sold for your application and nothing is sent to it. " + waitingText(e) +
				" Ask the marketplace.",
		}
	case f.profile.WebhookURL == "":
		s.Badge = "waiting"
		s.Title = "No webhook URL is set"
		s.Link = v.Path(setupPath)
		s.Label = "Set it up"
		s.Text = []string{waitingText(e)}
	case !e.ParkedAt.IsZero():
		s.Badge = "failed"
		s.Title = "Parked, next probe at " + at(e.ProbeAt)
		s.Text = []string{
			fmt.Sprintf("It fails since %s: %s.", at(e.FailingSince), strings.TrimSuffix(e.LastError, ".")),
			waitingText(e),
		}
	case !e.FailingSince.IsZero():
		s.Badge = "failed"
		s.Title = fmt.Sprintf("Failing since %s: %s", at(e.FailingSince), strings.TrimSuffix(e.LastError, "."))
		s.Text = []string{waitingText(e)}
	case e.LastSuccessAt.IsZero():
		s.Badge = "ready"
		s.Title = "Ready, and nothing was sent yet"
		s.Text = []string{waitingText(e)}
	default:
		s.Badge = "ok"
		s.Title = "Healthy"
		s.Text = []string{"The last delivery was taken at " + at(e.LastSuccessAt) + ". " + waitingText(e)}
	}
	if s.Badge == "failed" && v.Covers(partner.Developer) {
		s.Try = v.Path(tryPath)
	}
	return s
}

// waitingText describes the number of waiting events.
func waitingText(e webhook.EndpointHealth) string {
	return area.Waiting(e.Waiting, e.More)
}

// parkingRule explains the settings for failing endpoints.
func (h *Handler) parkingRule() []string {
	p := h.Policy
	var lasts time.Duration
	for _, wait := range p.Schedule {
		lasts += wait
	}
	rule := []string{
		fmt.Sprintf(
			"When nothing but failures came back for %s, in %s or more, your URL is parked: the queue waits, and one "+
				"event is sent every %s to see whether it is back. Status 410 parks it at once.",
			inWords(p.ParkAfter), plural.Of(webhook.ParkAttempts, "attempt"), inWords(p.ProbeEvery),
		),
		"The first success opens it, and what waits is sent, slowly at first. So does saving another URL.",
	}
	if n := len(p.Schedule); n > 0 {
		rule = append(
			rule,
			fmt.Sprintf(
				"An event that fails is tried %s in all, over about %s, and can be sent again after that.",
				plural.Of(n+1, "time"), inWords(lasts),
			),
		)
	}
	return rule
}

// inWords formats a duration in its two largest units.
func inWords(d time.Duration) string {
	units := []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}}
	var parts []string
	for _, u := range units {
		n := d / u.of
		d -= n * u.of
		if n == 0 {
			if len(parts) > 0 {
				break
			}
			continue
		}
		if parts = append(parts, plural.Of(int64(n), u.name)); len(parts) == 2 {
			break
		}
	}
	if len(parts) == 0 {
		return "no time"
	}
	return strings.Join(parts, " and ")
}

// statusWords describes the result of an attempt: a status, or no answer.
func statusWords(status int) string {
	switch text := http.StatusText(status); {
	case status == 0:
		return "no answer from your server"
	case status >= 200 && status < 300:
		return fmt.Sprintf("%d from your server, which did not say success", status)
	case text == "":
		return fmt.Sprintf("%d from your server", status)
	default:
		return fmt.Sprintf("%d %s from your server", status, text)
	}
}
