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
	"claviger/internal/diagnose/verify"
	claviger "claviger/sdk/go"
)

// feed reads the events of a partner in order, with either client.
type feed struct {
	asker
	partnerID int64
}

// happened is an event of the feed.
type happened struct {
	id            int64
	kind, license string
}

// after returns the next events after one.
func (f feed) after(ctx context.Context, last int64) ([]happened, error) {
	var list []happened
	if f.partner == nil {
		for { // The operator's feed has the events of all partners.
			page, err := f.operator.Events(ctx, last)
			if err != nil {
				return nil, err
			}
			for _, e := range page {
				last = e.EventID
				if e.PartnerID == f.partnerID {
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

// feedPage is the page size for events.
const feedPage = 100

// newest returns the id of the newest event, or 0.
func (f feed) newest(ctx context.Context) (int64, error) {
	for d, err := range f.deliveries(ctx, f.partnerID, claviger.DeliveryFilter{Limit: 1}) {
		return d.EventID, err
	}
	return 0, nil
}

// count returns the number of events after one.
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

// sentWebhook is a webhook to relay.
type sentWebhook struct {
	body   []byte
	header http.Header
}

// webhook returns the body of an event and, on request, the headers of its first attempt, if any.
func (f feed) webhook(ctx context.Context, id int64, headers bool) (sentWebhook, error) {
	var sent string
	var first int64
	var d claviger.DeliveryDetail
	var err error
	if f.partner != nil {
		d, err = f.partner.Delivery(ctx, id)
	} else {
		d, err = f.operator.Delivery(ctx, f.partnerID, id)
	}
	for _, a := range d.AttemptList.Items {
		first = a.AttemptID // The oldest is the last.
	}
	if err == nil && headers && first != 0 {
		sent, err = f.header(ctx, id, first)
	}
	if err != nil {
		return sentWebhook{}, fmt.Errorf("read the webhook of event %d: %w", id, err)
	}
	header := verify.ParseHeaders(sent)
	for _, name := range []string{"Host", "Content-Length", "Connection", "Accept-Encoding", "Transfer-Encoding"} {
		header.Del(name) // they belong to the original request
	}
	header.Set("Content-Type", "application/json; charset=UTF-8")
	header.Set(courier.HeaderID, "evt_"+strconv.FormatInt(id, 10))
	return sentWebhook{[]byte(d.RequestBody), header}, nil
}

// header returns the header text that an attempt sent.
func (f feed) header(ctx context.Context, id, attempt int64) (string, error) {
	if f.partner != nil {
		a, err := f.partner.Attempt(ctx, id, attempt)
		return a.RequestHeader, err
	}
	a, err := f.operator.Attempt(ctx, f.partnerID, id, attempt)
	return a.RequestHeader, err
}

// shortHash distinguishes texts without showing them.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}

// readState returns the id in a state file, and whether it exists.
func readState(file string) (id int64, known bool, err error) {
	if file == "" {
		return 0, false, nil
	}
	text, err := os.ReadFile(file) //nolint:gosec // named by the caller, or our own
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read where it stopped: %w", err)
	}
	id, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, false, usage(
			"%s is not a file of claviger listen; remove it, or name another with --state-file", file,
		)
	}
	return id, true, nil
}

// writeState stores the id of the last relayed event.
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
