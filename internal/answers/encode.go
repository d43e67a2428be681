package answers

import (
	"strconv"

	"claviger/internal/event"
	"claviger/internal/jsontext"
	"claviger/internal/license"
	"claviger/internal/webhook/history"
	"claviger/internal/wire"
)

// Lists are most of the traffic, and encoding/json would be most of their cost. So licenses, events
// and webhook responses are appended by hand; a property test compares the bytes with
// encoding/json. Keys and redemption ids are our own UUIDs and need no escaping.

// LicenseText is the constant text between the members of a license, with the public URL escaped
// once.
type LicenseText struct{ redeem, changePlan string }

// NewLicenseText returns the texts for the public URL.
func NewLicenseText(publicURL string) LicenseText {
	quoted := jsontext.AppendString(nil, publicURL+"/licensing/")
	prefix := string(quoted[:len(quoted)-1]) // the string stays open
	return LicenseText{
		redeem:     `","license_redemption_url":` + prefix,
		changePlan: `/redeem/","license_change_plan_url":` + prefix,
	}
}

// License appends one license (specification 2.3).
func (t *LicenseText) License(b []byte, l *license.License) []byte {
	b = append(b, `{"license_key":"`...)
	b = append(b, l.Key...)
	b = append(b, t.redeem...)
	b = append(b, l.RedemptionID...)
	b = append(b, t.changePlan...)
	b = append(b, l.RedemptionID...)
	b = append(b, `/change_plan/","status":"`...)
	b = append(b, l.Status.String()...)
	b = append(b, `","tier":`...)
	b = strconv.AppendInt(b, int64(l.Tier), 10)
	b = append(b, `,"created_at":"`...)
	b = wire.AppendTime(b, l.CreatedAt)
	b = append(b, `","updated_at":"`...)
	b = wire.AppendTime(b, l.UpdatedAt)
	return append(b, `"}`...)
}

// Licenses appends a list of licenses.
func (t *LicenseText) Licenses(b []byte, list []license.License) []byte {
	b = appendSize(b, len(list))
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = t.License(b, &list[i])
	}
	return append(b, `]}`...)
}

// appendEvent appends one event (specification 2.4) with its responses. Its status is the one after
// the event; the license may have another by now. Reasons are our own words and need no escaping.
func appendEvent(b []byte, e *event.Event) []byte {
	b = append(b, `{"event_id":`...)
	b = strconv.AppendInt(b, e.ID, 10)
	b = append(b, `,"event":"`...)
	b = append(b, e.Kind.String()...)
	b = append(b, `","tier":`...)
	b = strconv.AppendInt(b, int64(e.Tier), 10)
	b = append(b, `,"license_key":"`...)
	b = append(b, e.LicenseKey...)
	b = append(b, `","created_at":"`...)
	b = wire.AppendTime(b, e.CreatedAt)
	b = append(b, `","status":"`...)
	b = append(b, e.Kind.Status().String()...)
	b = append(b, `","reason":"`...)
	b = append(b, e.Reason...)
	b = append(b, `","responses":`...)
	b = appendResponses(b, e.Responses)
	return append(b, '}')
}

// appendEvents appends a list of events.
func appendEvents(b []byte, list []event.Event) []byte {
	b = appendSize(b, len(list))
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendEvent(b, &list[i])
	}
	return append(b, `]}`...)
}

// appendResponse appends one webhook response (specification 2.5). Its texts come from outside and
// are escaped.
func appendResponse(b []byte, r *history.Response) []byte {
	b = append(b, `{"webhook_id":`...)
	b = strconv.AppendInt(b, r.ID, 10)
	b = append(b, `,"event":"`...)
	b = append(b, event.Kind(r.Kind).String()...)
	b = append(b, `","license_key":"`...)
	b = append(b, r.LicenseKey...)
	b = append(b, `","request_header":`...)
	b = jsontext.AppendString(b, r.RequestHeader)
	b = append(b, `,"request_body":`...)
	b = jsontext.AppendString(b, r.RequestBody)
	b = append(b, `,"response_status":`...)
	b = strconv.AppendInt(b, int64(r.ResponseStatus), 10)
	b = append(b, `,"response_body":`...)
	b = jsontext.AppendString(b, r.ResponseBody)
	b = append(b, `,"response_time":`...)
	b = strconv.AppendInt(b, r.ResponseTime, 10)
	b = append(b, `,"url":`...)
	b = jsontext.AppendString(b, r.URL)
	b = append(b, `,"success":`...)
	b = strconv.AppendBool(b, r.Success)
	if r.Diagnosis != "" {
		b = append(b, `,"diagnosis":`...)
		b = jsontext.AppendString(b, r.Diagnosis)
	}
	b = append(b, `,"created_at":"`...)
	b = wire.AppendTime(b, r.CreatedAt)
	b = append(b, `","updated_at":"`...)
	b = wire.AppendTime(b, r.UpdatedAt)
	return append(b, `"}`...)
}

// appendResponses appends a list of webhook responses.
func appendResponses(b []byte, list []history.Response) []byte {
	b = appendSize(b, len(list))
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendResponse(b, &list[i])
	}
	return append(b, `]}`...)
}

// appendSize appends the head of a list envelope (specification 2.7).
func appendSize(b []byte, n int) []byte {
	b = append(b, `{"size":`...)
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, `,"items":[`...)
}
