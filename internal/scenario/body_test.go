package scenario_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"claviger/internal/fault"
	"claviger/internal/scenario"
)

// TestForceTest: any body is marked as a test, and everything else stays unchanged.
func TestForceTest(t *testing.T) {
	const clock = 1_772_625_600
	for body, want := range map[string]string{
		`{}`:                                     `{"test":true}`,
		`{ }`:                                    `{"test":true}`,
		`{"a":1}`:                                `{"a":1,"test":true}`,
		"{\n  \"a\": 1\n}":                       "{\n  \"a\": 1,\"test\":true}",
		`{"test":false}`:                         `{"test":true}`,
		` {"test" : "no", "b":[{"test":0}]} `:    `{"test" : true, "b":[{"test":0}]}`,
		`{"test":{"a":{"b":1}},"c":"é<&>"}`:      `{"test":true,"c":"é<&>"}`,
		`{"test":true,"test":false,"x":1e3}`:     `{"test":true,"test":true,"x":1e3}`,
		`{"\u0074est":false}`:                    `{"\u0074est":true}`,
		`{"test":true,"TEST":false,"Test":null}`: `{"test":true,"TEST":true,"Test":true}`,
	} {
		got, id, err := scenario.ForceTest(body, clock)
		if err != nil || string(got) != want || id != clock || !json.Valid(got) {
			t.Errorf("%s: %s, %d, %v, want %s", body, got, id, err, want)
		}
	}
	for _, body := range []string{"", "null", "[]", `"a"`, "{", `{"a":1}{"b":2}`, `{"a":1} x`, `{"a":}`, strings.Repeat(" ", 10), `{"a":"` + strings.Repeat("x", scenario.MaxBody) + `"}`} {
		if got, _, err := scenario.ForceTest(body, clock); fault.Of(err) == nil || fault.Of(err).Field != "body" {
			t.Errorf("%.40s: %s, %v", body, got, err)
		}
	}
	for body, want := range map[string]int64{
		`{"event_id":1772625000}`:         1772625000, // of an earlier test event
		`{"event_id":42}`:                 clock,      // of a real event
		`{"event_id":9999999999}`:         clock,
		`{"event_id":"1772625000"}`:       clock,
		`{"event_id":1772625000.5}`:       clock,
		`{"license_key":7,"event_id":-1}`: clock,
	} {
		if _, id, err := scenario.ForceTest(body, clock); err != nil || id != want {
			t.Errorf("%s: id %d, %v, want %d", body, id, err, want)
		}
	}
}

// TestOneEvent: a user's own body is sent unchanged.
func TestOneEvent(t *testing.T) {
	a := &application{}
	r := runner(t, a)
	var licenses []scenario.License
	r.Before = func(_ context.Context, l scenario.License) error {
		licenses = append(licenses, l)
		return nil
	}
	for _, body := range []string{
		`{"license_key":"5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11","event":"activate","license_status":"active","tier":3,"test":true}`,
		`{"license_key":"no key","license_status":"active","tier":3,"test":true}`,
		`{"license_key":"5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11","license_status":"gone","tier":3,"test":true}`,
		`{"license_key":"5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11","license_status":"active","tier":0,"test":true}`,
	} {
		results, err := r.Run(t.Context(), scenario.One("activate", []byte(body), 77))
		if err != nil || verdicts(results) != "pass" || results[0].Title != "activate" {
			t.Fatalf("%+v, %v", results, err)
		}
		if last := a.posts[len(a.posts)-1]; last.Body != body || last.ID0 != "evt_77" {
			t.Errorf("%s: %s", last.ID0, last.Body)
		}
	}
	if len(licenses) != 1 || licenses[0].Key != "5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11" || licenses[0].Status != "active" || licenses[0].Tier != 3 {
		t.Errorf("test licenses: %+v", licenses)
	}
}

func FuzzForceTest(f *testing.F) {
	for _, s := range []string{`{"test":false,"a":[1,{"test":2}]}`, `{ "test" : null }`, `{"a":"\u007d"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, _, err := scenario.ForceTest(body, 1_772_625_600)
		if err != nil {
			return
		}
		var read struct {
			Test bool `json:"test"`
		}
		if err := json.Unmarshal(got, &read); err != nil || !read.Test {
			t.Errorf("%q became %q: %v", body, got, err)
		}
	})
}
