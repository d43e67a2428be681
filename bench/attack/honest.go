package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"claviger/bench/internal/meter"
)

// impression is the experience of an honest client, and the program's size.
type impression struct {
	took   []time.Duration
	failed int
	memory int64 // highest resident size in bytes
	ended  bool  // the program did not survive
}

func (i *impression) median() time.Duration { return i.at(0.5) }

func (i *impression) at(share float64) time.Duration {
	if len(i.took) == 0 {
		return 0
	}
	slices.Sort(i.took)
	return i.took[int(share*float64(len(i.took)-1))]
}

func (i *impression) String() string {
	return fmt.Sprintf("median %s, p99 %s, %d answered, %d failed",
		i.median().Round(100*time.Microsecond), i.at(0.99).Round(100*time.Microsecond), len(i.took), i.failed)
}

// useHonestly requests the profile ten times a second until the time is up, like a partner
// unrelated to the attack. A request that outlives the attack counts with the time until then.
func (t *target) useHonestly(ctx context.Context, s seller, length time.Duration) *impression {
	ctx, stop := context.WithTimeout(ctx, length)
	defer stop()
	var i impression
	var watching sync.WaitGroup
	watching.Go(func() { i.watch(ctx, t.cmd.Process.Pid) })
	defer watching.Wait()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		begin := time.Now()
		status, err := t.get(ctx, client, "/v2/profile", s.APIKey)
		switch {
		case ctx.Err() != nil, err == nil && status == http.StatusOK:
			i.took = append(i.took, time.Since(begin))
		default:
			i.failed++
		}
		pause(ctx, 100*time.Millisecond)
	}
	return &i
}

// watch records the maximum size of a process, and whether it ends.
func (i *impression) watch(ctx context.Context, pid int) {
	for ctx.Err() == nil && !i.ended {
		now, _ := meter.Memory(pid)
		i.memory, i.ended = max(i.memory, now), now == 0
		pause(ctx, 100*time.Millisecond)
	}
}

// addHonest adds a figure of an honest client.
func (l *lab) addHonest(what string, i *impression) {
	l.add(what+": another partner's GET /v2/profile", "median under 50 ms", "%s", i)
	l.add(what+": highest resident size", "under 300 MiB", "%d MiB%s", i.memory>>20,
		map[bool]string{true: ", then it was killed"}[i.ended])
}
