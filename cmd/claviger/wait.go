package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"claviger/internal/app"
	claviger "claviger/sdk/go"
)

// waitLook is the polling interval of wait.
const waitLook = 250 * time.Millisecond

func waitCommand() *cobra.Command {
	cmd := group("wait", "Wait until a webhook was delivered or a mail was sent",
		"For scripts and tests: ends with 0 when it has happened, also if it had before, and with 4 when --timeout "+
			"passed.")
	cmd.AddCommand(waitDeliveryCommand(), waitMailCommand())
	return cmd
}

// until polls until something is found or the time is over.
func until[T any](
	ctx context.Context, timeout time.Duration, what string, look func(context.Context) (T, bool, error),
) (T, error) {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	begun := time.Now()
	p := newProgress(os.Stderr, "seconds waited for "+what)
	defer p.end()
	for {
		found, ok, err := look(ctx)
		if err != nil || ok {
			return found, err
		}
		p.show(int64(time.Since(begun).Seconds()), int64(timeout.Seconds()))
		if pause(bounded, waitLook) != nil {
			if ctx.Err() != nil {
				return found, context.Cause(ctx)
			}
			return found, &failure{exitCheck, fmt.Errorf("%s did not come within %s", what, timeout)}
		}
	}
}

func waitDeliveryCommand() *cobra.Command {
	var f claviger.DeliveryFilter
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "delivery", Short: "Wait until the webhook of an event was delivered",
		Long: "Waits until there is a delivery that matches, and prints it. --state waits for another state than " +
			"delivered.",
		Example: "claviger wait delivery --license 3794577c-3a4f-4d0c-9c5e-0d6c2f0fc550 --event activate\n" +
			"claviger wait delivery --event-id 4711 --timeout 2m",
		Args: exactly(),
	}
	r := remoteFlags(cmd)
	partnerID := partnerFlag(cmd)
	state := wordFlag(cmd, "state", "The state to wait for", deliveryStates...)
	kind := wordFlag(cmd, "event", "Only events of this kind", eventKinds...)
	cmd.Flags().StringVar(&f.LicenseKey, "license", "", "Only those of this license key")
	cmd.Flags().Int64Var(&f.EventID, "event-id", 0, "Only that of this event")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "How long to wait at most")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.LicenseKey == "" && f.EventID == 0 {
			return usage("which delivery? Name the license with --license, or the event with --event-id")
		}
		a, err := r.openFor(cmd.Context(), partnerID)
		if err != nil {
			return err
		}
		f.State = cmp.Or(*state, "delivered")
		f.Event = *kind
		f.Limit = 1
		found, err := until(cmd.Context(), timeout, "the delivery",
			func(ctx context.Context) (claviger.Delivery, bool, error) {
				list, err := first(a.deliveries(ctx, *partnerID, f), 1)
				if err != nil || len(list) == 0 {
					return claviger.Delivery{}, false, err
				}
				return list[0], true, nil
			})
		if err != nil {
			return err
		}
		return printList(cmd, r.asJSON, []claviger.Delivery{found}, deliveryColumns, deliveryRow)
	}
	return cmd
}

// devMail is an email in claviger dev.
type devMail struct {
	ID      int64     `json:"id"`
	To      string    `json:"to"`
	Subject string    `json:"subject"`
	At      time.Time `json:"at"`
	Text    string    `json:"text"`
}

// linkIn finds the links of an email.
var linkIn = regexp.MustCompile(`https?://[^\s<>"]*[^\s<>".,;:!?')\]]`)

func waitMailCommand() *cobra.Command {
	var service, to, subject, since string
	var timeout time.Duration
	var asJSON, link bool
	cmd := &cobra.Command{
		Use: "mail", Short: "Wait until claviger dev has written a mail, and print it",
		Long: "Waits until the newest mail that matches is there, and prints its text; with --link the first " +
			"link in it alone. Only claviger dev shows its mails.",
		Example: "claviger wait mail --to buyer@example.com --subject sign --link",
		Args:    exactly(),
	}
	cmd.Flags().StringVar(&service, "url", "", "URL of the claviger dev; else "+urlVariable)
	cmd.Flags().StringVar(&to, "to", "", "Address that the mail goes to")
	cmd.Flags().StringVar(&subject, "subject", "", "Words in the subject, in any letter case")
	cmd.Flags().StringVar(&since, "since", "", "Only mails since then: as long ago as 30s or 1h, or a time")
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "How long to wait at most")
	cmd.Flags().BoolVar(&link, "link", false, "Print the first link of the mail alone")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		base := strings.TrimSuffix(cmp.Or(service, os.Getenv(urlVariable)), "/")
		if base == "" {
			return usage("which claviger dev? Name it with --url or %s, such as http://localhost:8080", urlVariable)
		}
		if to == "" {
			return usage("whose mail? Name the address with --to")
		}
		from, err := parseSince(since, app.Now())
		if err != nil {
			return err
		}
		found, err := until(cmd.Context(), timeout, "the mail", func(ctx context.Context) (devMail, bool, error) {
			return findMail(ctx, base, func(m devMail) bool {
				return strings.EqualFold(m.To, to) &&
					strings.Contains(strings.ToLower(m.Subject), strings.ToLower(subject)) && !m.At.Before(from)
			})
		})
		if err != nil {
			return err
		}
		return printMail(cmd, found, asJSON, link)
	}
	return cmd
}

// findMail returns the newest matching email of a claviger dev.
func findMail(ctx context.Context, base string, is func(devMail) bool) (devMail, bool, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+devMails, http.NoBody)
	if err != nil {
		return devMail{}, false, usage("--url %q is not a URL", base)
	}
	r.Header.Set("Accept", "application/json")
	a, err := (&http.Client{Timeout: pageTimeout}).Do(r)
	if err != nil {
		return devMail{}, false, &failure{exitUnreachable, err}
	}
	defer func() { _ = a.Body.Close() }() // the body was read completely
	var list struct {
		Items []devMail `json:"items"`
	}
	if err := json.NewDecoder(io.LimitReader(a.Body, 16<<20)).Decode(&list); err != nil ||
		a.StatusCode != http.StatusOK {
		return devMail{}, false, &failure{
			exitRefused,
			errors.New(
				"the service at " + base + " shows no mails (" + strconv.Itoa(a.StatusCode) +
					"); only claviger dev does",
			),
		}
	}
	for _, m := range list.Items { // the newest first
		if is(m) {
			return m, true, nil
		}
	}
	return devMail{}, false, nil
}

func printMail(cmd *cobra.Command, m devMail, asJSON, link bool) error {
	text := m.Text
	if link && !asJSON {
		if text = linkIn.FindString(m.Text); text == "" {
			return errors.New("there is no link in the mail " + strconv.Quote(m.Subject))
		}
	}
	return answer{json: m, out: strings.TrimSpace(text) + "\n"}.print(cmd, asJSON)
}
