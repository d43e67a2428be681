package ui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/alexedwards/scs/v2"
)

// codec encodes a session as JSON. The default of scs is gob, which decodes the types again for
// each session: a tenth of the time of a page. Old gob sessions are still read.
type codec struct{ old scs.GobCodec }

// stored is the stored form of a session. The member names are in the database: they never change.
type stored struct {
	Deadline int64             `json:"deadline"`
	Numbers  map[string]int64  `json:"numbers,omitempty"`
	Texts    map[string]string `json:"texts,omitempty"`
	Flags    map[string]bool   `json:"flags,omitempty"`
}

// Encode writes a session.
func (codec) Encode(deadline time.Time, values map[string]any) ([]byte, error) {
	s := stored{
		Deadline: deadline.UnixNano(),
		Numbers:  map[string]int64{},
		Texts:    map[string]string{},
		Flags:    map[string]bool{},
	}
	for name, value := range values {
		switch v := value.(type) {
		case int64:
			s.Numbers[name] = v
		case string:
			s.Texts[name] = v
		case bool:
			s.Flags[name] = v
		default:
			return nil, fmt.Errorf("a session cannot store %s, which is a %T", name, value)
		}
	}
	return json.Marshal(s)
}

// Decode reads a session.
func (c codec) Decode(text []byte) (deadline time.Time, values map[string]any, err error) {
	if !bytes.HasPrefix(text, []byte(`{"deadline":`)) {
		return c.old.Decode(text)
	}
	var s stored
	if err := json.Unmarshal(text, &s); err != nil {
		return time.Time{}, nil, fmt.Errorf("read a stored session: %w", err)
	}
	values = make(map[string]any, len(s.Numbers)+len(s.Texts)+len(s.Flags))
	for name, v := range s.Numbers {
		values[name] = v
	}
	for name, v := range s.Texts {
		values[name] = v
	}
	for name, v := range s.Flags {
		values[name] = v
	}
	return time.Unix(0, s.Deadline).UTC(), values, nil
}
