// Package stripetest starts stripe-mock for tests.
package stripetest

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// StartMock starts stripe-mock, which knows Stripe's API description, on the loopback interface,
// and returns its URL. It sets both listeners, because the defaults are open to every machine.
func StartMock(t testing.TB) string {
	t.Helper()
	find := exec.CommandContext(t.Context(), "go", "tool", "-n", "-modfile=tools/go.mod", "stripe-mock")
	find.Dir = root(t)
	var said strings.Builder
	find.Stderr = &said
	path, err := find.Output()
	if err != nil {
		t.Skipf("stripe-mock cannot be built: %v\n%s", err, said.String())
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	mock := exec.CommandContext(
		ctx,
		strings.TrimSpace(string(path)),
		"-http-addr",
		"127.0.0.1:0",
		"-https-addr",
		"127.0.0.1:0",
	) //nolint:gosec // It is the tool that was just built.
	out, err := mock.StdoutPipe()
	if err == nil {
		err = mock.Start()
	}
	if err != nil {
		stop()
		t.Fatal(err)
	}
	read := make(chan struct{})
	t.Cleanup(func() {
		stop()
		<-read
		_ = mock.Wait() // it was killed
	})
	url := make(chan string, 1)
	go func() {
		defer close(read)
		defer close(url)
		listens := regexp.MustCompile(`^Listening for HTTP at address: (127\.0\.0\.1:\d+)$`)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := listens.FindStringSubmatch(lines.Text()); m != nil {
				url <- "http://" + m[1]
			}
		}
	}()
	at, ok := <-url
	if !ok {
		t.Fatal("stripe-mock ended before it listened")
	}
	return at
}

// root returns the folder that contains the tools.
func root(t testing.TB) string {
	t.Helper()
	at, err := os.Getwd()
	for ; err == nil && at != filepath.Dir(at); at = filepath.Dir(at) {
		if _, serr := os.Stat(filepath.Join(at, "tools", "go.mod")); serr == nil {
			return at
		}
	}
	t.Fatalf("there is no tools/go.mod above: %v", err)
	return ""
}
