package fakestripe

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// state is the saved state of the fake.
type state struct {
	Last     int               `json:"last"`
	Order    []string          `json:"order"`
	Objects  map[string]Object `json:"objects"`
	Events   []savedEvent      `json:"events"`
	Answered map[string]saved  `json:"answered"`
}

type savedEvent struct {
	ID   string          `json:"id"`
	Type string          `json:"type"`
	At   int64           `json:"at"`
	Body json.RawMessage `json:"body"`
}

type saved struct {
	Form string `json:"form"`
	ID   string `json:"id"`
}

// Save returns the state of the fake, for Load.
func (s *Server) Save() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := state{Last: s.last, Order: s.order, Objects: s.objects, Answered: map[string]saved{}}
	for _, e := range s.events {
		all.Events = append(all.Events, savedEvent{e.ID, e.Type, e.at, e.Body})
	}
	for key, a := range s.answered {
		all.Answered[key] = saved{a.form, a.id}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("save the fake Stripe: %w", err)
	}
	return text, nil
}

// Load restores a saved state into an unused fake.
func (s *Server) Load(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // keeps amounts as whole numbers
	var all state
	if err := d.Decode(&all); err != nil {
		return fmt.Errorf("load the fake Stripe: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = all.Last
	s.order = all.Order
	s.objects = all.Objects
	s.events = nil
	s.answered = map[string]answer{}
	for _, o := range s.objects {
		for name, v := range o {
			if n, ok := v.(json.Number); ok {
				whole, err := n.Int64()
				if err != nil {
					return fmt.Errorf("load the fake Stripe: %w", err)
				}
				o[name] = whole
			}
		}
	}
	for _, e := range all.Events {
		s.events = append(s.events, Event{ID: e.ID, Type: e.Type, Body: e.Body, at: e.At})
	}
	for key, a := range all.Answered {
		s.answered[key] = answer{a.Form, a.ID}
	}
	return nil
}
