package courier_test

import (
	"testing"
	"time"

	"claviger/internal/courier"
)

var benchEvent = courier.Event{
	LicenseKey: "5f2b9f0e-2f0b-4d6f-9d0a-6f6f2f1f0d11", Kind: "purchase", Status: "inactive", At: time.UnixMilli(1772625600123), EventID: 123456,
	Tier: 2, PreviousTier: 1, Reason: "plan_changed", Sentence: "The buyer changed the plan.", CreatedAt: time.UnixMilli(1772625600123),
}

func BenchmarkBody(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		courier.Body(benchEvent)
	}
}

func BenchmarkHeaders(b *testing.B) {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
	signer, body := courier.Signer{UserAgent: "claviger"}, courier.Body(benchEvent)
	for name, secrets := range map[string]courier.Secrets{"ready": courier.NewSecrets(secret), "plain": {Current: secret}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				signer.Headers(123456, 1, benchEvent.At, secrets, body)
			}
		})
	}
}

func BenchmarkStandardWebhooksLibrary(b *testing.B) {
	body := courier.Body(benchEvent)
	wh := library(b, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wh.Sign("evt_123456", benchEvent.At, body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHeaderText(b *testing.B) {
	h := courier.Signer{UserAgent: "claviger"}.Headers(123456, 1, benchEvent.At, courier.NewSecrets("lk_1"), nil)
	b.ReportAllocs()
	for b.Loop() {
		courier.HeaderText(h)
	}
}

func BenchmarkDelivered(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		courier.Delivered(200, `{"success":true,"event":"purchase"}`, true)
	}
}
