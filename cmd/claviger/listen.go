package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"claviger/internal/app"
	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/validate"
	claviger "claviger/sdk/go"
)

// listener relays the deliveries of a service to an application on this machine.
type listener struct {
	events feed
	client *courier.Client
	to     string
	signer courier.Signer
	secret string // "": send the headers of the service's own attempt
	state  string // file with the id of the last relayed event; "": none
	count  int    // number of events after which it ends; 0: unlimited
	asJSON bool
	cmd    *cobra.Command

	told bool // that the application is away
}

// listenText explains the command listen.
const listenText = "Follows the events of a partner and posts each, as its webhook has it, to --forward-to, until it " +
	"is interrupted. The service's own deliveries continue.\n\n" +
	"It begins with the next event. Started again, it continues where it stopped, and says how many events " +
	"it catches up with; --after begins behind an event. " +
	"An application that cannot be reached is tried until it can; every answer counts.\n\n" +
	"With a webhook secret each post is signed again, with the current time. Without it, it has the headers " +
	"of the service's first attempt, whose timestamp is of that time: " +
	"events that were never sent have no signature then."

func listenCommand() *cobra.Command {
	var to, secret, brand, state string
	var after int64
	var count int
	cmd := &cobra.Command{
		Use: "listen", Short: "Relay the webhooks of a running service to an application on this machine",
		Long:    listenText,
		Example: "claviger listen --forward-to http://127.0.0.1:3000/webhook --secret-file secret.txt",
		Args:    exactly(),
	}
	r := remoteFlags(cmd)
	partnerID := partnerFlag(cmd)
	cmd.Flags().StringVar(&to, "forward-to", "", "URL of the application on this machine")
	secretFlag(cmd, &secret)
	cmd.Flags().StringVar(
		&brand, "brand", "",
		"Brand in the names of the headers, as in X-<Brand>-Signature (default Licensing)",
	)
	cmd.Flags().Int64Var(
		&after, "after", -1,
		"Begin behind the event with this id, in place of where it stopped; 0 is before the first",
	)
	cmd.Flags().StringVar(
		&state, "state-file", "",
		"File that remembers where it stopped; without it, one in your cache folder",
	)
	cmd.Flags().IntVar(&count, "count", 0, "End after that many events")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if to == "" {
			return usage("where to? Name the application with --forward-to, such as http://127.0.0.1:3000/webhook")
		}
		if _, err := validate.URL("--forward-to", to, true); err != nil {
			return &failure{exitUsage, err}
		}
		a, err := r.openFor(cmd.Context(), partnerID)
		if err != nil {
			return err
		}
		l := &listener{
			events: feed{a, *partnerID}, to: to, secret: cmp.Or(secret, os.Getenv(secretVariable)), count: count,
			asJSON: r.asJSON, cmd: cmd,
			client: courier.New(courier.Options{
				AllowPrivate: true, UserAgent: "claviger-listen/" + app.ThisBuild().Version,
			}),
			signer: courier.Signer{Brand: brand, UserAgent: "claviger-listen/" + app.ThisBuild().Version},
			state:  cmp.Or(state, stateFile(r, *partnerID, to)),
		}
		defer l.client.Close()
		last, err := l.begin(cmd.Context(), after)
		if err == nil {
			err = l.run(cmd.Context(), last)
		}
		if cmd.Context().Err() != nil {
			return nil // interrupted, which is the normal end
		}
		return err
	}
	return cmd
}

// begin returns the start position: after the named event, the last one of the state file, or the
// newest.
func (l *listener) begin(ctx context.Context, after int64) (int64, error) {
	last, known, err := readState(l.state)
	if err != nil {
		return 0, err
	}
	switch {
	case after >= 0:
		last = after
	case !known:
		if last, err = l.events.newest(ctx); err != nil {
			return 0, answered(err)
		}
		l.tell("waiting for events; relayed to %s", l.to)
		return last, writeState(l.state, last)
	}
	waiting, err := l.events.count(ctx, last)
	if err != nil {
		return 0, answered(err)
	}
	l.tell("catching up with %s since event %d; relayed to %s", events(waiting), last, l.to)
	return last, nil
}

func events(n int) string {
	if n == 1 {
		return "1 event"
	}
	return fmt.Sprintf("%d events", n)
}

// tell writes a note to standard error.
func (l *listener) tell(format string, args ...any) {
	_, _ = fmt.Fprintf(l.cmd.ErrOrStderr(), format+"\n", args...) // a lost note is no failure
}

// listenLook is the polling interval for new events.
const listenLook = time.Second

// run relays events until ctx ends, or enough were relayed.
func (l *listener) run(ctx context.Context, last int64) error {
	done := 0
	for {
		found, err := asked(ctx, l, func() ([]happened, error) { return l.events.after(ctx, last) })
		if err != nil {
			return err
		}
		for _, e := range found {
			if err := l.relay(ctx, e); err != nil {
				return err
			}
			last = e.id
			if err := writeState(l.state, last); err != nil {
				return err
			}
			if done++; done == l.count {
				return nil
			}
		}
		if len(found) == 0 {
			if err := pause(ctx, listenLook); err != nil {
				return err
			}
		}
	}
}

// asked repeats a request until the service answers, because it may be restarting. A refusal is an
// answer.
func asked[T any](ctx context.Context, l *listener, ask func() (T, error)) (T, error) {
	for away := false; ; away = true {
		got, err := ask()
		refused, ok := errors.AsType[*claviger.Error](err)
		switch {
		case err == nil && away:
			l.tell("the service is there again")
			return got, nil
		case err == nil:
			return got, nil
		case ok && refused.Status < http.StatusInternalServerError:
			return got, answered(err)
		case ctx.Err() != nil:
			return got, context.Cause(ctx)
		case !away:
			l.tell("the service cannot be reached, and is asked again: %v", err)
		}
		if err := pause(ctx, listenLook); err != nil {
			return got, err
		}
	}
}

// relayed is a relayed event in the output of --json.
type relayed struct {
	EventID    int64  `json:"event_id"`
	Event      string `json:"event"`
	LicenseKey string `json:"license_key"`
	StatusCode int    `json:"status_code"`
	Delivered  bool   `json:"delivered"`
	Why        string `json:"why,omitempty"`
	DurationMs int64  `json:"duration_ms"`
}

// relay posts one event to the application until it answers.
func (l *listener) relay(ctx context.Context, e happened) error {
	w, err := asked(ctx, l, func() (sentWebhook, error) { return l.events.webhook(ctx, e.id, l.secret == "") })
	if refused, ok := errors.AsType[*claviger.Error](err); ok && refused.Status == http.StatusNotFound {
		l.tell("event %d has no webhook, and is left out", e.id) // as for an imported license
		return nil
	}
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		if l.secret != "" {
			w.header = l.signer.Headers(e.id, attempt, app.Now(), courier.NewSecrets(l.secret), w.body)
		}
		answer, err := l.client.Send(
			ctx, courier.Request{Method: http.MethodPost, URL: l.to, Header: w.header, Body: w.body},
		)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			l.told = false
			return l.print(e, answer)
		case !l.told:
			l.told = true
			why, _ := diagnose.Explain(err)
			l.tell("event %d cannot be relayed, and is tried again: %s", e.id, why)
		}
		if err := pause(ctx, listenLook); err != nil {
			return err
		}
	}
}

// print writes a line about a relayed event.
func (l *listener) print(e happened, a courier.Answer) error {
	line := relayed{
		EventID: e.id, Event: e.kind, LicenseKey: e.license, StatusCode: a.Status,
		DurationMs: a.Took.Milliseconds(),
	}
	if line.Delivered, line.Why = courier.Delivered(a.Status, a.Body, false); line.Delivered {
		line.Why = ""
	}
	word := "pass"
	if !line.Delivered {
		word = "fail"
	}
	at := time.Now().Format(time.TimeOnly)
	took := fmt.Sprintf("%d in %d ms", a.Status, line.DurationMs)
	text := strings.Join([]string{at, word, fmt.Sprint(e.id), e.kind, e.license, took, oneLine(line.Why)}, "\t")
	if isTerminal(os.Stdout) {
		text = fmt.Sprintf(
			"%s  %s  %-10s  %s  event %d  %s  %s", at, colored(word, 4), e.kind, e.license, e.id, took,
			oneLine(line.Why),
		)
	}
	return answer{json: line, out: strings.TrimRight(text, "\t ") + "\n"}.print(l.cmd, l.asJSON)
}

// stateFile returns the path at which listen stores its position for one source and one
// application.
func stateFile(r *remote, partnerID int64, to string) string {
	folder, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	who := fmt.Sprintf(
		"%s\n%s%s\n%d\n%s", cmp.Or(r.url, os.Getenv(urlVariable)),
		cmp.Or(r.apiKey, os.Getenv(apiKeyVariable)), r.token, partnerID, to,
	)
	return filepath.Join(folder, "claviger", "listen-"+shortHash(who))
}
