package dispatch

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// channel carries hints of new deliveries between nodes.
const channel = "webhooks"

// The limits of hints.
const (
	hintPause    = 2 * time.Millisecond // between two messages: hints are collected meanwhile
	hintLicenses = 500                  // above it, a hint names only the partner
	hintBytes    = 7900                 // of one message
	hintBase     = 36
)

// hinter collects hints for other nodes: licenses by partner. License 0 means everything due, and
// the endpoint.
type hinter struct {
	wake chan struct{}

	mu    sync.Mutex
	hints map[int64]map[int64]bool
}

// hintOthers makes another node check a license for due deliveries. A hint names the license, never
// the event: hints of two nodes may cross.
func (d *Dispatcher) hintOthers(partnerID, licenseID int64) {
	h := &d.hinter
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hints == nil {
		h.hints = map[int64]map[int64]bool{}
	}
	licenses := h.hints[partnerID]
	if licenses == nil || len(licenses) >= hintLicenses {
		licenses = map[int64]bool{}
		if h.hints[partnerID] != nil {
			licenseID = 0
		}
		h.hints[partnerID] = licenses
	}
	if !licenses[0] {
		licenses[licenseID] = true
	}
	signal(h.wake)
}

// sendHints sends hints in their own transactions. A lost hint costs a second, until the owner's
// poll.
func (d *Dispatcher) sendHints(ctx context.Context) {
	for sent := (time.Time{}); ; sent = time.Now() {
		select {
		case <-ctx.Done():
			return
		case <-d.hinter.wake:
		}
		pause(ctx, hintPause-time.Since(sent))
		d.hinter.mu.Lock()
		hints := d.hinter.hints
		d.hinter.hints = nil
		d.hinter.mu.Unlock()
		if len(hints) > 0 {
			d.note(ctx, "tell other nodes of webhooks", d.Store.DB.Notify(ctx, channel, messages(hints)...))
		}
	}
}

// messages formats hints as partner:license, separated by commas.
func messages(hints map[int64]map[int64]bool) []string {
	var list []string
	var b strings.Builder
	for _, partnerID := range slices.Sorted(maps.Keys(hints)) {
		licenses := hints[partnerID]
		if licenses[0] {
			licenses = map[int64]bool{0: true}
		}
		for _, licenseID := range slices.Sorted(maps.Keys(licenses)) {
			hint := strconv.FormatInt(partnerID, hintBase) + ":" + strconv.FormatInt(licenseID, hintBase)
			if b.Len()+len(hint)+1 > hintBytes {
				list = append(list, b.String())
				b.Reset()
			}
			if b.Len() > 0 {
				b.WriteByte(',')
			}
			b.WriteString(hint)
		}
	}
	return append(list, b.String())
}

// hear receives hints of other nodes. "" means that some may have been missed.
func (d *Dispatcher) hear(message string) {
	if message == "" {
		d.poller.missed.Store(true)
		signal(d.poller.wake)
		return
	}
	for hint := range strings.SplitSeq(message, ",") {
		partner, license, _ := strings.Cut(hint, ":")
		partnerID, err := strconv.ParseInt(partner, hintBase, 64)
		licenseID, err2 := strconv.ParseInt(license, hintBase, 64)
		if err != nil || err2 != nil {
			continue // from another program version; the poll finds the delivery
		}
		d.post(partnerID, func(m *mail) {
			if licenseID == 0 {
				m.orders |= orderReload
			} else {
				m.hints = append(m.hints, licenseID)
			}
		})
	}
}
