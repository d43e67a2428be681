package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"claviger/internal/courier"
	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

// feed is the events of a partner in their order, whoever asks.
type feed struct {
	asker
	partnerID int64
}

// happened is an event of the feed.
type happened struct {
	id            int64
	kind, license string
}

// after is the next events behind one.
func (f feed) after(ctx context.Context, last int64) ([]happened, error) {
	var list []happened
	if f.partner == nil {
		for { // The operator's feed has the events of all partners.
			page, err := f.operator.Events(ctx, last)
			if err != nil {
				return nil, err
			}
			for _, e := range page {
				if last = e.EventID; e.PartnerID == f.partnerID {
					list = append(list, happened{e.EventID, e.Event, e.LicenseKey})
				}
			}
			if len(list) > 0 || len(page) == 0 {
				return list, nil
			}
		}
	}
	for e, err := range f.partner.Events(ctx, claviger.EventFilter{After: &last, OldestFirst: true}) {
		if err != nil {
			return list, err
		}
		if list = append(list, happened{e.EventID, string(e.Event), e.LicenseKey}); len(list) == feedPage {
			break
		}
	}
	return list, nil
}

// feedPage is how many events are read at once.
const feedPage = 100

// newest is the id of the newest event; 0 if there is none.
func (f feed) newest(ctx context.Context) (int64, error) {
	for d, err := range f.deliveries(ctx, f.partnerID, claviger.DeliveryFilter{Limit: 1}) {
		return d.EventID, err
	}
	return 0, nil
}

// count is how many events there are behind one.
func (f feed) count(ctx context.Context, last int64) (int, error) {
	n := 0
	for {
		list, err := f.after(ctx, last)
		if err != nil || len(list) == 0 {
			return n, err
		}
		n += len(list)
		last = list[len(list)-1].id
	}
}

// sentWebhook is a webhook as it is relayed.
type sentWebhook struct {
	body   []byte
	header http.Header
}

// webhook is that of an event: its body and, if they are asked for, the headers of the
// first attempt, if there was one.
func (f feed) webhook(ctx context.Context, id int64, headers bool) (sentWebhook, error) {
	var body, sent string
	var first int64
	var err error
	if f.partner != nil {
		var d claviger.DeliveryDetail
		d, err = f.partner.Delivery(ctx, id)
		for _, a := range d.AttemptList.Items {
			first = a.AttemptID // The oldest is the last.
		}
		body = d.RequestBody
	} else {
		var d operator.DeliveryDetail
		d, err = f.operator.Delivery(ctx, f.partnerID, id)
		for _, a := range d.AttemptList.Items {
			first = a.AttemptID
		}
		body = d.RequestBody
	}
	if err == nil && headers && first != 0 {
		sent, err = f.header(ctx, id, first)
	}
	if err != nil {
		return sentWebhook{}, fmt.Errorf("read the webhook of event %d: %w", id, err)
	}
	header := courier.ParseHeaders(sent)
	for _, name := range []string{"Host", "Content-Length", "Connection", "Accept-Encoding", "Transfer-Encoding"} {
		header.Del(name) // They are of that request alone.
	}
	header.Set("Content-Type", "application/json; charset=UTF-8")
	header.Set(courier.HeaderID, "evt_"+strconv.FormatInt(id, 10))
	return sentWebhook{[]byte(body), header}, nil
}

// header is what an attempt sent above its body.
func (f feed) header(ctx context.Context, id, attempt int64) (string, error) {
	if f.partner != nil {
		a, err := f.partner.Attempt(ctx, id, attempt)
		return a.RequestHeader, err
	}
	a, err := f.operator.Attempt(ctx, f.partnerID, id, attempt)
	return a.RequestHeader, err
}

// shortHash tells texts apart without showing them.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// readState is the id in a state file, and whether there is one.
func readState(file string) (id int64, known bool, err error) {
	if file == "" {
		return 0, false, nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // It is the file that the caller named, or our own.
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read where it stopped: %w", err)
	}
	id, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, false, usage("%s is not a file of claviger listen; remove it, or name another with --state-file", file)
	}
	return id, true, nil
}

// writeState stores the id of the last event that was relayed.
func writeState(file string, id int64) error {
	if file == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("store where it stopped: %w", err)
	}
	next := file + ".new"
	if err := os.WriteFile(next, []byte(strconv.FormatInt(id, 10)+"\n"), 0o600); err != nil {
		return fmt.Errorf("store where it stopped: %w", err)
	}
	if err := os.Rename(next, file); err != nil {
		return fmt.Errorf("store where it stopped: %w", err)
	}
	return nil
}
