package fakestripe

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// answerTime is the time to answer a new dispute, in seconds.
const answerTime = 7 * 24 * 60 * 60

// maxEvidence is the number of characters that all fields of evidence may have together.
const maxEvidence = 150_000

// details returns the evidence details of a dispute.
func details(o Object) map[string]any { return o["evidence_details"].(map[string]any) }

// setDetail replaces the details, because an answer with the old ones may be on its way.
func setDetail(o Object, name string, value any) {
	changed := maps.Clone(details(o))
	changed[name] = value
	o["evidence_details"] = changed
}

// answerDispute stages evidence of a dispute, and submits it if the call says so, which is final. As
// at Stripe, submit is true if it is missing.
func (s *Server) answerDispute(id string, form url.Values) (Object, []Event, int, string) {
	o := s.objects[id]
	if o == nil || o["object"] != "dispute" {
		return nil, nil, http.StatusNotFound, "resource_missing"
	}
	if status := o.Text("status"); !strings.HasSuffix(status, "needs_response") || details(o)["past_due"] == true ||
		number(details(o)["due_by"]) <= s.now() {
		return nil, nil, http.StatusBadRequest, "dispute_not_open"
	}
	evidence := maps.Clone(o["evidence"].(map[string]any))
	characters := 0
	for name, values := range form {
		if field, ok := strings.CutPrefix(name, "evidence["); ok {
			evidence[strings.TrimSuffix(field, "]")] = values[0]
			characters += utf8.RuneCountInString(values[0])
		}
	}
	if characters > maxEvidence {
		return nil, nil, http.StatusBadRequest, "evidence_size"
	}
	o["evidence"] = evidence
	setDetail(o, "has_evidence", true)
	if form.Get("submit") != "false" {
		setDetail(o, "submission_count", number(details(o)["submission_count"])+1)
		o["status"] = strings.TrimSuffix(o.Text("status"), "needs_response") + "under_review"
	}
	return o, []Event{s.happen("charge.dispute.updated", o)}, 0, ""
}

// number returns a whole number of an object, which is a json.Number after Load.
func number(v any) int64 {
	switch n := v.(type) {
	case int64:
		return n
	case json.Number:
		whole, _ := n.Int64() // Load accepts only whole numbers
		return whole
	}
	return 0
}
