package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"claviger/internal/app"
	"claviger/internal/devserver"
)

// prepare changes the services of a dev server before it starts. Only tests set it.
var prepare func(*app.Services)

// devText explains the command dev.
const devText = "Runs the whole service with one partner (plans of tier 1 to 3), one buyer, one member of the " +
	"partner and one operator in it, and prints their credentials. " +
	"Webhooks may go to http and to this machine; there is no rate limit unless you ask for one. Payments " +
	"are made at /dev/stripe/, which stands in for Stripe and moves no money, unless " +
	"--stripe-secret-key names an account. Mails are shown at /dev/mail/, and sent nowhere unless " +
	"--smtp-url names a server. " +
	"Until you name your own application with --webhook and --redirect, a sample application at " +
	"/dev/partner/ is the partner's: it shows what arrives.\n\n" +
	"What happens is told in short lines on standard error; --log-format json or text writes the whole log " +
	"in their place.\n\n" +
	"Without --db the data is temporary: a fresh start each time, removed at the end. " +
	"With --db it is kept, and the next start on the same --db prints the same credentials; --webhook, " +
	"--redirect, --brand and --single-key then change what is stored. " +
	"dev refuses a database that it did not make."

func devCommand() *cobra.Command {
	var webhook, redirect string
	var asJSON, single bool
	cmd := &cobra.Command{
		Use: "dev", Short: "Run the service on your own machine, seeded, to develop against",
		Long: devText,
		Example: "claviger dev\n" +
			"claviger dev --db dev.db --webhook http://127.0.0.1:3000/webhook --redirect " +
			"http://127.0.0.1:3000/callback\n" +
			"claviger dev --addr 127.0.0.1:0 --json",
		Args: exactly(),
	}
	cmd.AddCommand(devTimeCommand(), devFaultCommand())
	g := settingFlags(cmd, app.Dev)
	cmd.Flags().StringVar(
		&webhook, "webhook", "",
		"Where the partner's webhooks go; without it to the sample application, unless another URL is stored",
	)
	cmd.Flags().StringVar(&redirect, "redirect", "", "Where the partner's buyers are sent back to; likewise")
	cmd.Flags().BoolVar(
		&single, "single-key", false,
		"Make the partner's API key its webhook secret too; --single-key=false makes two of them again",
	)
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON object with all credentials as the first line")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		asked := devserver.Config{
			App: cfg, Webhook: webhook, Redirect: redirect,
			Lines: os.Stderr, Color: wantsColor(isTerminal(os.Stderr), os.Getenv), Prepare: prepare,
		}
		if cmd.Flags().Changed("single-key") {
			asked.SingleKey = &single
		}
		if err := asked.Valid(); err != nil {
			return &failure{exitUsage, err}
		}
		ctx, stop := untilClosed(cmd.Context())
		defer stop()
		e, err := devserver.New(ctx, asked)
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf(
				"another program listens at %s; end it, or take a free port with --addr 127.0.0.1:0",
				cfg.Addr,
			)
		}
		if err != nil {
			return err
		}
		return runDev(ctx, cmd, e, asJSON)
	}
	return cmd
}

// untilClosed ends ctx also when the terminal closes: temporary data must not outlive it. Under
// nohup it does not. (Listening for SIGPIPE would report every broken connection, also the
// database's.)
func untilClosed(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}

// runDev prints the card and serves. The address already accepts connections, so the reader can use
// it immediately.
func runDev(ctx context.Context, cmd *cobra.Command, e *devserver.Server, asJSON bool) error {
	if err := tell(cmd, e, asJSON); err != nil {
		return errors.Join(err, e.Close()) //nolint:contextcheck // ends the work that ctx started
	}
	go debug.FreeOSMemory() // returns start-up memory: it runs on a laptop with other programs
	return e.Run(ctx)
}

// tell writes the card to standard output and the rest to standard error.
func tell(cmd *cobra.Command, e *devserver.Server, asJSON bool) error {
	if err := (answer{json: e.Card(), out: e.Card().Text()}).print(cmd, asJSON); err != nil {
		return err
	}
	notes := e.Notes()
	if e.Temporary() {
		notes = append(notes, "the data is temporary; start with --db dev.db to keep it")
	}
	for _, note := range notes {
		if _, err := fmt.Fprintln(cmd.ErrOrStderr(), "note: "+note); err != nil {
			return err
		}
	}
	return nil
}
