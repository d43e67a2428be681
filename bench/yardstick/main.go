// Command yardstick is the reference for measurements of the service: small programs that do the
// minimum for such an answer or sale, directly on the drivers. The program bench starts it; package
// yard has their protocol.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"claviger/bench/internal/yard"
	"claviger/internal/httpd"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "yardstick:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("this program is started by bench")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	if args[0] == yard.Sells {
		return sell(ctx, line, input)
	}
	go func() {
		_, _ = io.Copy(io.Discard, input)
		cancel()
	}()
	newHandler, ok := map[string]func(context.Context, []byte) (http.HandlerFunc, error){
		yard.Answers: answering, yard.Signs: signing, yard.Selects: selecting,
	}[args[0]]
	if !ok {
		return fmt.Errorf("there is no yardstick %q", args[0])
	}
	h, err := newHandler(ctx, line)
	if err != nil {
		return err
	}
	return serve(ctx, h)
}

// read decodes the task.
func read[T any](line []byte) (v T, err error) {
	if err := json.Unmarshal(line, &v); err != nil {
		return v, fmt.Errorf("read what to do: %w", err)
	}
	return v, nil
}

// answering only writes the same bytes with the same headers.
func answering(_ context.Context, line []byte) (http.HandlerFunc, error) {
	a, err := read[yard.Answer](line)
	return func(w http.ResponseWriter, _ *http.Request) {
		a.Head(w)
		_, _ = w.Write(a.Body)
	}, err
}

// serve serves a handler with the timeouts of the service.
func serve(ctx context.Context, handler http.Handler) error {
	var lc net.ListenConfig
	socket, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: httpd.DefaultMaxHeaderBytes,
	}
	context.AfterFunc(ctx, func() { _ = s.Close() })
	if err := json.NewEncoder(os.Stdout).Encode(yard.Address{Addr: socket.Addr().String()}); err != nil {
		return err
	}
	if err := s.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
