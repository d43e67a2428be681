package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// crowded is one of the addresses of the crowd.
const crowded = "2001:db8:7:7::7"

// passwords tries passwords over 400 connections, each request from another IPv6
// network, while a buyer signs in with the right one.
func passwords(ctx context.Context, l *lab) error {
	const crowd, length = 400, 30 * time.Second
	t, err := l.start(ctx, "--trusted-proxies", "127.0.0.1")
	if err != nil {
		return err
	}
	defer t.stop()
	client := &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: crowd},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	returning := &http.Client{Jar: jar, CheckRedirect: client.CheckRedirect}
	if _, err := t.signIn(ctx, returning, crowded, t.card.Buyer.Email, t.card.Buyer.Password); err != nil {
		return err
	}
	trying, stop := context.WithTimeout(ctx, length)
	defer stop()
	var tried, refused atomic.Int64
	var all sync.WaitGroup
	for range crowd {
		all.Go(func() {
			for trying.Err() == nil {
				from := fmt.Sprintf("2001:%x:%x:%x::1", rand.IntN(1<<16), rand.IntN(1<<16), rand.IntN(1<<16))
				email := fmt.Sprintf("nobody%d@example.com", rand.Int64())
				switch status, err := t.signIn(trying, client, from, email, "wrong password"); {
				case err != nil:
				case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests:
					refused.Add(1)
				default:
					tried.Add(1)
				}
			}
		})
	}
	pause(trying, 5*time.Second) // the crowd is at work
	honest := t.signInHonestly(trying, client, "198.51.100.7")
	again := t.signInHonestly(trying, returning, crowded)
	stop()
	all.Wait()
	l.add(fmt.Sprintf("%d connections that try passwords: tried, told to wait", crowd), "–", "%d, %d", tried.Load(),
		refused.Load())
	l.add("a buyer who signs in meanwhile, from the first try to being in", "a few seconds", "%s", honest)
	l.add("the same, from a network among theirs, with a browser that was signed in before", "a few seconds", "%s",
		again)
	return nil
}

// signInHonestly signs in with the right password, and retries a second after each refusal. It
// returns the total time, in words.
func (t *target) signInHonestly(ctx context.Context, client *http.Client, from string) string {
	begin := time.Now()
	for tries := 1; ctx.Err() == nil; tries++ {
		status, err := t.signIn(ctx, client, from, t.card.Buyer.Email, t.card.Buyer.Password)
		if err == nil && status == http.StatusSeeOther {
			return fmt.Sprintf("%s, %d tries", time.Since(begin).Round(time.Millisecond), tries)
		}
		pause(ctx, time.Second)
	}
	return fmt.Sprintf("not in after %s", time.Since(begin).Round(time.Second))
}

// signIn posts the form and returns the status.
func (t *target) signIn(ctx context.Context, client *http.Client, from, email, password string) (int, error) {
	form := url.Values{"email": {email}, "password": {password}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.card.BaseURL+"/sign-in",
		strings.NewReader(form.Encode()))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Forwarded-For", from)
	resp, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}
