package answers

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"claviger/internal/event"
	"claviger/internal/license"
	"claviger/internal/webhook/history"
	"claviger/internal/wire"
)

// Reference for the hand-written encoders: the same values with tags, for encoding/json.
type (
	jsonLicense struct {
		LicenseKey    string `json:"license_key"`
		RedemptionURL string `json:"license_redemption_url"`
		ChangePlanURL string `json:"license_change_plan_url"`
		Status        string `json:"status"`
		Tier          int    `json:"tier"`
		CreatedAt     string `json:"created_at"`
		UpdatedAt     string `json:"updated_at"`
	}
	jsonEvent struct {
		EventID    int64                       `json:"event_id"`
		Event      string                      `json:"event"`
		Tier       int                         `json:"tier"`
		LicenseKey string                      `json:"license_key"`
		CreatedAt  string                      `json:"created_at"`
		Status     string                      `json:"status"`
		Reason     string                      `json:"reason"`
		Responses  wire.Envelope[jsonResponse] `json:"responses"`
	}
	jsonResponse struct {
		WebhookID      int64  `json:"webhook_id"`
		Event          string `json:"event"`
		LicenseKey     string `json:"license_key"`
		RequestHeader  string `json:"request_header"`
		RequestBody    string `json:"request_body"`
		ResponseStatus int    `json:"response_status"`
		ResponseBody   string `json:"response_body"`
		ResponseTime   int64  `json:"response_time"`
		URL            string `json:"url"`
		Success        bool   `json:"success"`
		Diagnosis      string `json:"diagnosis,omitempty"`
		CreatedAt      string `json:"created_at"`
		UpdatedAt      string `json:"updated_at"`
	}
)

const layout = "2006-01-02T15:04:05.000000Z"

func jsonLicenseOf(publicURL string) func(license.License) jsonLicense {
	return func(l license.License) jsonLicense {
		at := publicURL + "/licensing/" + l.RedemptionID
		return jsonLicense{
			l.Key, at + "/redeem/", at + "/change_plan/", l.Status.String(), l.Tier,
			l.CreatedAt.Format(layout), l.UpdatedAt.Format(layout),
		}
	}
}

func jsonEventOf(e event.Event) jsonEvent {
	return jsonEvent{
		e.ID, e.Kind.String(), e.Tier, e.LicenseKey, e.CreatedAt.Format(layout), e.Kind.Status().String(), string(e.Reason),
		wire.ListOf(e.Responses, jsonResponseOf),
	}
}

func jsonResponseOf(r history.Response) jsonResponse {
	return jsonResponse{
		r.ID, event.Kind(r.Kind).String(), r.LicenseKey, r.RequestHeader, r.RequestBody, r.ResponseStatus, r.ResponseBody,
		r.ResponseTime, r.URL, r.Success, r.Diagnosis, r.CreatedAt.Format(layout), r.UpdatedAt.Format(layout),
	}
}

var (
	uuids  = rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	kinds  = rapid.SampledFrom([]event.Kind{event.Purchase, event.Activate, event.Deactivate})
	states = rapid.SampledFrom([]event.Status{event.Inactive, event.Active, event.Deactivated})
	// reasons are arbitrary lower-case words.
	reasons = rapid.Custom(func(t *rapid.T) event.Reason {
		return event.Reason(rapid.StringMatching(`[a-z_]{1,20}`).Draw(t, "reason"))
	})
	times = rapid.Custom(func(t *rapid.T) time.Time {
		return time.UnixMicro(rapid.Int64Range(0, lastTime.UnixMicro()).Draw(t, "µs")).UTC()
	})
	// texts are possible answers of an endpoint: any bytes, UTF-8 or not.
	texts = rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	}), rapid.SampledFrom([]string{"<&>\u2028\u2029\x7f\x00\"\\/\b\f\n\r\t", "\xed\xa0\x80", "\xf4\x90\x80\x80", "ünï"}))
)

var licenses = rapid.Custom(func(t *rapid.T) license.License {
	return license.License{
		Key:          uuids.Draw(t, "key"),
		RedemptionID: uuids.Draw(t, "redemption"),
		Status:       states.Draw(t, "status"),
		Tier:         rapid.Int().Draw(t, "tier"),
		CreatedAt:    times.Draw(t, "created"),
		UpdatedAt:    times.Draw(t, "updated"),
	}
})

var responses = rapid.Custom(func(t *rapid.T) history.Response {
	return history.Response{
		ID:             rapid.Int64().Draw(t, "id"),
		Kind:           int(kinds.Draw(t, "kind")),
		LicenseKey:     uuids.Draw(t, "key"),
		RequestHeader:  texts.Draw(t, "header"),
		RequestBody:    texts.Draw(t, "sent"),
		ResponseStatus: rapid.IntRange(0, 999).Draw(t, "status"),
		ResponseBody:   texts.Draw(t, "body"),
		ResponseTime:   rapid.Int64().Draw(t, "ms"),
		URL:            texts.Draw(t, "url"),
		Success:        rapid.Bool().Draw(t, "success"),
		Diagnosis:      texts.Draw(t, "diagnosis"),
		CreatedAt:      times.Draw(t, "created"),
		UpdatedAt:      times.Draw(t, "updated"),
	}
})

var events = rapid.Custom(func(t *rapid.T) event.Event {
	return event.Event{
		ID:         rapid.Int64().Draw(t, "id"),
		Kind:       kinds.Draw(t, "kind"),
		Tier:       rapid.Int().Draw(t, "tier"),
		LicenseKey: uuids.Draw(t, "key"),
		CreatedAt:  times.Draw(t, "created"),
		Reason:     reasons.Draw(t, "reason"),
		Responses:  rapid.SliceOfN(responses, 0, 3).Draw(t, "responses"),
	}
})

func TestLicensesAsEncodingJSONWritesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		publicURL := texts.Draw(t, "public URL")
		list := rapid.SliceOfN(licenses, 0, 5).Draw(t, "licenses")
		text := NewLicenseText(publicURL)
		same(t, text.Licenses(nil, list), wire.ListOf(list, jsonLicenseOf(publicURL)))
	})
}

func TestEventsAsEncodingJSONWritesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(events, 0, 5).Draw(t, "events")
		same(t, appendEvents(nil, list), wire.ListOf(list, jsonEventOf))
	})
}

func TestResponsesAsEncodingJSONWritesThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(responses, 0, 5).Draw(t, "responses")
		same(t, appendResponses(nil, list), wire.ListOf(list, jsonResponseOf))
	})
}

func same(t *rapid.T, got []byte, v any) {
	want, err := wire.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Fatalf("by hand:\n%s\nby encoding/json:\n%s", got, want)
	}
}

// TestLicensesDoNotAllocate guards the speed of the list.
func TestLicensesDoNotAllocate(t *testing.T) {
	list := rapid.SliceOfN(licenses, 100, 100).Example()
	text := NewLicenseText("https://licensing.example.com")
	b := make([]byte, 0, 64<<10)
	if n := testing.AllocsPerRun(10, func() { b = text.Licenses(b[:0], list) }); n != 0 {
		t.Errorf("a page of %d licenses allocates %v times; want none", len(list), n)
	}
}

func BenchmarkAppendLicenses(b *testing.B) {
	list := rapid.SliceOfN(licenses, 100, 100).Example()
	text := NewLicenseText("https://licensing.example.com")
	buf := make([]byte, 0, 64<<10)
	b.ReportAllocs()
	for b.Loop() {
		buf = text.Licenses(buf[:0], list)
	}
	b.SetBytes(int64(len(buf)))
}
