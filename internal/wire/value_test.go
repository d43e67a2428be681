package wire_test

import (
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"claviger/internal/wire"
)

const layout = "2006-01-02T15:04:05.000000Z"

func TestAppendTimeIsFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("", rapid.IntRange(-14*3600, 14*3600).Draw(t, "offset"))
		// From the year 0 to past the year 9999, and a bit on either side.
		at := time.Unix(rapid.Int64Range(-63_000_000_000, 260_000_000_000).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).In(zone)
		if got, want := string(wire.AppendTime([]byte("x"), at)), "x"+at.UTC().Format(layout); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
	for _, at := range []time.Time{{}, time.Unix(0, 0), time.Date(2026, 12, 31, 23, 59, 59, 999_999_999, time.UTC)} {
		if got, want := string(wire.AppendTime(nil, at)), at.UTC().Format(layout); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestTimeGoesThereAndBack(t *testing.T) {
	type answer struct {
		At   wire.Time `json:"at"`
		None wire.Time `json:"none,omitzero"`
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 600_000, time.UTC)
	b, err := json.Marshal(answer{At: wire.Time(at)})
	if want := `{"at":"2026-01-02T03:04:05.000600Z"}`; err != nil || string(b) != want {
		t.Fatalf("got %s, %v, want %s", b, err, want)
	}
	var back answer
	if err := json.Unmarshal(b, &back); err != nil || !time.Time(back.At).Equal(at) {
		t.Errorf("read back %v, %v", back, err)
	}
	for _, bad := range []string{`{"at":5}`, `{"at":"today"}`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("took %s", bad)
		}
	}
}

func BenchmarkAppendTime(b *testing.B) {
	at, buf := time.Now(), make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		buf = wire.AppendTime(buf[:0], at)
	}
}
