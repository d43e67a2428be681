package area

import (
	"net/http"
	"strconv"
	"time"

	"claviger/internal/partner"
	"claviger/internal/ui"
)

// credentialsPath is the page of a partner's secrets, below the partner's.
const credentialsPath = "/credentials"

// overlaps are the periods for which a replaced secret can still work.
var overlaps = []ui.Option{
	{Value: "0", Label: "Not at all: it ends at once"},
	{Value: "3600", Label: "1 hour"},
	{Value: "86400", Label: "24 hours"},
	{Value: "259200", Label: "3 days"},
	{Value: "604800", Label: "7 days"},
	{Value: "2592000", Label: "30 days"},
}

const defaultOverlap = 86400

// overlapField returns the field that asks for this period.
func (v *PartnerVisit) overlapField(label string) ui.Field {
	return ui.Field{
		Name: "overlap_s", Label: label, Type: "select", Value: strconv.Itoa(defaultOverlap),
		Options: overlaps, Required: true,
		Hint: v.either(
			"Long enough to put the new one into all your servers. You can end it earlier by “Switch now”.",
			"Long enough for the partner to put the new one into all its servers.",
		),
	}
}

// overlap reads that field.
func overlap(r *http.Request) time.Duration {
	n, err := strconv.ParseInt(ui.FormText(r, "overlap_s"), 10, 32)
	if err != nil {
		return -1 // refused
	}
	return time.Duration(n) * time.Second
}

// rotatedSteps lists the remaining steps after a rotation. what is it, or them.
func (v *PartnerVisit) rotatedSteps(made partner.Rotation, what string) []string {
	left := made.PreviousUntil.Sub(v.Common().Area.Now())
	switch {
	case !v.Own:
		return []string{
			"Hand " + what + " to the partner in a way that nobody else reads. We keep no copy that could be shown.",
		}
	case left <= 0:
		return []string{"Put it into your servers at once: the replaced one has ended."}
	}
	return []string{
		"Put it into your servers. Both work for another " + Span(left) + ".",
		"Check under Credentials that the new one is being used.",
		"Then press “Switch now” there, or let the time run out.",
	}
}
