package statement

import (
	"fmt"
	"time"
)

// Month is a month of a year. Earlier months are smaller.
type Month int

// MonthOf returns the month of a time in a zone.
func MonthOf(t time.Time, zone *time.Location) Month {
	t = t.In(zone)
	return Month(12*t.Year() + int(t.Month()) - 1)
}

// String returns the month as in 2026-11.
func (m Month) String() string { return fmt.Sprintf("%04d-%02d", m/12, m%12+1) }

// Name returns the month for people, such as November 2026.
func (m Month) Name() string { return fmt.Sprintf("%s %d", time.Month(m%12+1), int(m/12)) }

// Begin returns the first moment of the month in a zone.
func (m Month) Begin(zone *time.Location) time.Time {
	return time.Date(int(m/12), time.Month(m%12+1), 1, 0, 0, 0, 0, zone).UTC()
}
