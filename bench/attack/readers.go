package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// readers requests the deepest pages of changes for a partner with many licenses, with 200
// concurrent requests.
func readers(ctx context.Context, l *lab) error {
	const licenses, crowd = 120_000, 200
	t, err := l.start(ctx, "--rate-limit", "0")
	if err != nil {
		return err
	}
	defer t.stop()
	honest, hostile, err := t.addTwo(ctx, "")
	if err != nil {
		return err
	}
	if err := t.sell(ctx, hostile, licenses); err != nil {
		return err
	}
	reading, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	var served, refused atomic.Int64
	var all sync.WaitGroup
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: crowd}}
	for n := range crowd {
		path := fmt.Sprintf("/v2/licenses?updated_since=2000-01-01T00:00:00Z&limit=100&page=%d", licenses/100-n)
		all.Go(func() {
			for reading.Err() == nil {
				switch status, err := t.get(reading, client, path, hostile.APIKey); {
				case err == nil && status == http.StatusOK:
					served.Add(1)
				case err == nil:
					refused.Add(1)
					pause(reading, 50*time.Millisecond)
				}
			}
		})
	}
	seen := t.useHonestly(reading, honest, 30*time.Second)
	stop()
	all.Wait()
	what := fmt.Sprintf("%d readers of deep pages with updated_since", crowd)
	l.add(what+": served, told to wait", "–", "%d, %d", served.Load(), refused.Load())
	l.addHonest(what, seen)
	return nil
}
