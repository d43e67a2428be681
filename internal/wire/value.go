package wire

import (
	"encoding/json"
	"fmt"
	"time"
)

// timeLayout is the format of timestamps: RFC 3339 in UTC, of fixed width.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Time is a timestamp in an answer or a body. The json option omitzero leaves the zero time out of
// answers.
type Time time.Time

// IsZero reports whether t is the zero time; omitzero calls it.
func (t Time) IsZero() bool { return time.Time(t).IsZero() }

// MarshalJSON writes t as a JSON string with six fractional digits.
func (t Time) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, len(timeLayout)+2)
	b = append(b, '"')
	b = AppendTime(b, time.Time(t))
	return append(b, '"'), nil
}

// UnmarshalJSON accepts the same as ParseTime.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("a timestamp must be a string: %w", err)
	}
	v, err := ParseTime(s)
	if err != nil {
		return err
	}
	*t = Time(v)
	return nil
}

// ParseTime parses an RFC 3339 timestamp with any offset and any number of fractional digits. It
// returns UTC, truncated to microseconds.
func ParseTime(s string) (time.Time, error) {
	v, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("read a timestamp: %w", err)
	}
	return v.UTC().Truncate(time.Microsecond), nil
}

// AppendTime appends t in UTC with exactly six fractional digits and Z, without quotes. It is a
// faster time.Format for years of four digits.
func AppendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(b, timeLayout)
	}
	hour, minute, sec := t.Clock()
	micro := t.Nanosecond() / 1000
	var d [len(timeLayout)]byte
	two(d[0:], year/100)
	two(d[2:], year%100)
	two(d[5:], int(month))
	two(d[8:], day)
	two(d[11:], hour)
	two(d[14:], minute)
	two(d[17:], sec)
	two(d[20:], micro/10_000)
	two(d[22:], micro/100%100)
	two(d[24:], micro%100)
	d[4], d[7], d[10], d[13], d[16], d[19], d[26] = '-', '-', 'T', ':', ':', '.', 'Z'
	return append(b, d[:]...)
}

// digits has the digits of 00 to 99.
var digits = func() (t [200]byte) {
	for i := range 100 {
		t[2*i], t[2*i+1] = byte('0'+i/10), byte('0'+i%10)
	}
	return t
}()

// two writes the two digits of n < 100.
func two(b []byte, n int) {
	_ = b[1]
	b[0], b[1] = digits[2*n], digits[2*n+1]
}
