package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"claviger/bench/internal/figure"
	"claviger/bench/internal/load"
	"claviger/bench/internal/meter"
	"claviger/bench/internal/seed"
)

// footprint measures the real program: its memory under load on the seeded database, and the
// start-up time and size of `dev`.
func (b *bench) footprint(ctx context.Context, store seed.Store) error {
	program, err := b.build(ctx, "claviger", "claviger/cmd/claviger")
	if err != nil {
		return err
	}
	if err := b.memory(ctx, store, program); err != nil {
		return err
	}
	if store.Server != "" {
		return nil // `dev` is for a file
	}
	return b.dev(ctx, store, program)
}

// memory runs `serve` under a mix of requests of partners and the marketplace, and reads its
// highest resident size. Its sales stay in the database, which is larger on the next run.
func (b *bench) memory(ctx context.Context, store seed.Store, program string) error {
	market, err := store.Market(ctx, b.licenses, say)
	if err != nil {
		return err
	}
	addr, err := free(ctx)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, "serve", "--addr", addr, "--db", market.URL, "--rate-limit", "0",
		"--public-url", "https://licenses.example.com")
	cmd.Env = append(os.Environ(), "CLAVIGER_SECRET_KEY="+seed.SecretKey)
	if err := cmd.Start(); err != nil {
		return err
	}
	defer end(cmd)
	if err := awaitHTTP(ctx, addr, seed.APIKey(1)); err != nil {
		return err
	}
	idle, _ := meter.Memory(cmd.Process.Pid)
	crowd, err := load.Gather(ctx, addr, inFlight)
	if err != nil {
		return err
	}
	defer crowd.Close()
	noise := meter.Listen(b.servers...)
	mix := mixture(market)
	rate, err := load.Rate(ctx, len(crowd), 10*b.length, func(_ context.Context, worker int) error {
		request := mix()
		status, _, err := crowd[worker].Do(request)
		if err == nil && status/100 != 2 {
			err = fmt.Errorf("%.60q was answered %d", request, status)
		}
		return err
	})
	if err != nil {
		return err
	}
	_, highest := meter.Memory(cmd.Process.Pid)
	b.add(figure.Row{
		Case: fmt.Sprintf("memory of serve, %s licenses, 32 connections, lists, reads and purchases",
			thousands(float64(market.Licenses))),
		Ours: perSecond.Show(rate), Yardstick: mib(idle) + " idle", Database: store.Name(),
		Value: inMiB(highest), Unit: "MiB", Shown: "**" + mib(highest) + "**", Goal: figure.AtMost(150, "MiB"),
		Noise: noise.Share(),
	})
	return nil
}

// mixture returns random requests: mostly lists, some single licenses, some purchases.
func mixture(m seed.Market) func() []byte {
	run := time.Now().UnixNano()
	var sold atomic.Int64
	return func() []byte {
		at := 1 + rand.Int64N(m.Licenses/100)
		key := seed.APIKey(1)
		switch n := rand.IntN(100); {
		case n < 30:
			return load.Get(fmt.Sprintf("/v2/licenses?page=%d", at), key)
		case n < 40:
			return load.Get(fmt.Sprintf("/v2/licenses?status=active&page=%d", at), key)
		case n < 60:
			return load.Get(fmt.Sprintf("/v2/licenses/events?page=%d", at), key)
		case n < 65:
			return load.Get(fmt.Sprintf("/v2/licenses/events?status=deactivated&page=%d", at), key)
		case n < 80:
			return load.Get("/v2/licenses/"+seed.LicenseKey(1+rand.Int64N(at*100)), key)
		default:
			return load.Post("/operator/v1/purchases", seed.Token, fmt.Sprintf(
				`{"partner_id":%d,"tier":1,"external_id":"memory-%d-%d"}`, m.Partners[0], run, sold.Add(1)))
		}
	}
}

// dev starts `claviger dev` repeatedly on an existing file.
func (b *bench) dev(ctx context.Context, store seed.Store, program string) error {
	if err := store.Drop(ctx, "dev"); err != nil {
		return err
	}
	file := filepath.Join(b.data, "dev.db")
	if _, _, err := b.devOnce(ctx, program, file); err != nil { // makes the file
		return err
	}
	noise := meter.Listen(b.servers...)
	var took, sizes []float64
	for range 2 * b.rounds {
		t, size, err := b.devOnce(ctx, program, file)
		if err != nil {
			return err
		}
		took = append(took, float64(t.Microseconds())/1000)
		sizes = append(sizes, size)
	}
	share := noise.Share()
	starts := fmt.Sprintf("%d starts", len(took))
	b.add(figure.Single("claviger dev: first answer on a warm file", store.Name(), starts, figure.Median(took), "%.0f",
		"ms", figure.AtMost(300, "ms"), share))
	b.add(figure.Single("claviger dev: resident size after it", store.Name(), starts, figure.Median(sizes), "%.0f",
		"MiB", figure.AtMost(60, "MiB"), share))
	return store.Drop(ctx, "dev")
}

// devOnce starts it and requests the list of licenses as soon as the credentials are printed. It
// returns the time since the start, and the highest resident size in MiB so far.
func (b *bench) devOnce(ctx context.Context, program, file string) (time.Duration, float64, error) {
	cmd := exec.CommandContext(ctx, program, "dev", "--json", "--addr", "127.0.0.1:0", "--db", file)
	output, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer end(cmd)
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err != nil {
		return 0, 0, fmt.Errorf("read the first line: %w", err)
	}
	var card struct {
		BaseURL string `json:"base_url"`
		Partner struct {
			APIKey string `json:"api_key"`
		} `json:"partner"`
	}
	if err := json.Unmarshal(line, &card); err != nil {
		return 0, 0, fmt.Errorf("read the first line: %w", err)
	}
	if _, err := readAPI(ctx, card.BaseURL, "/v2/licenses", card.Partner.APIKey); err != nil {
		return 0, 0, err
	}
	took := time.Since(start)
	_, highest := meter.Memory(cmd.Process.Pid)
	return took, float64(highest) / (1 << 20), nil
}

// end stops a program in order.
func end(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait()
}

// free returns a free address.
func free(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// awaitHTTP waits until the service answers.
func awaitHTTP(ctx context.Context, addr, key string) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		_, err := readAPI(ctx, "http://"+addr, "/v2/licenses?limit=1", key)
		if err == nil || time.Now().After(deadline) || !errors.Is(err, syscall.ECONNREFUSED) &&
			!errors.Is(err, io.EOF) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func mib(n int64) string { return fmt.Sprintf("%.0f MiB", inMiB(n)) }

func inMiB(n int64) float64 { return float64(n) / (1 << 20) }
