package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"claviger/internal/app"
	"claviger/internal/courier"
	"claviger/internal/diagnose"
	"claviger/internal/partner"
	"claviger/internal/scenario"
	"claviger/internal/validate"
)

// loopName is the scenario of a whole connection, from a sale to the license.
const loopName = "loop"

// checked is the application under check, with the options.
type checked struct {
	webhook, redirect, secret, brand string
	strict                           bool
	clientID, clientSecret           string
	service                          *remote
	junit                            string
	verbose                          bool
}

func checkCommand() *cobra.Command {
	c := &checked{}
	cmd := &cobra.Command{
		Use: "check", Short: "Check a partner's application: its webhook URL, its redirect URL, and a whole connection",
		Long: "Sends test events to the webhook URL, right ones and wrong ones, calls the redirect URL, and prints " +
			"a line for each check: pass, warn, fail or skipped, with what to do. " +
			"The events have test: true in them, as those of the Simulator in the portal, which runs the same " +
			"scenarios.\n\n" +
			"With --url and --token-file of a claviger dev that has your URLs, and --client-id and " +
			"--client-secret-file, it goes through a connection too: " +
			"it sells a license there, has a buyer consent, exchanges a code for a token and reads the license, " +
			"then gives your application a code of its own.\n\n" +
			"Exit codes: 0 passed, warnings included; 4 a check failed; 3 an endpoint was not reached; 2 the " +
			"command was called wrongly.",
		Example: "claviger check --webhook http://127.0.0.1:3000/webhook --redirect http://127.0.0.1:3000/callback " +
			"--secret-file secret.txt\n" +
			"claviger check --webhook https://app.example/webhook --secret-file - --brand Acme --junit check.xml",
		Args: exactly(),
	}
	f := cmd.Flags()
	f.StringVar(&c.webhook, "webhook", "", "Webhook URL of the application")
	f.StringVar(&c.redirect, "redirect", "", "Redirect URL of the application")
	secretFlag(cmd, &c.secret)
	f.StringVar(
		&c.brand,
		"brand",
		"",
		"Brand in the names of the headers, as in X-<Brand>-Signature (default Licensing)",
	)
	f.BoolVar(&c.strict, "strict", false, `Count only 200 with "success": true as delivered`)
	f.StringVar(&c.clientID, "client-id", "", "OAuth client id of the application")
	secretVar(cmd, &c.clientSecret, "client-secret", clientVariable, "OAuth client secret of the application")
	f.StringVar(&c.junit, "junit", "", "File to write the results to, in the form of JUnit")
	f.BoolVar(&c.verbose, "verbose", false, "Show what was sent, signed and answered where a check did not pass")
	c.service = operatorFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := c.valid(); err != nil {
			return err
		}
		return c.run(cmd)
	}
	return cmd
}

// valid refuses options that cannot be checked.
func (c *checked) valid() error {
	c.secret = cmp.Or(c.secret, os.Getenv(secretVariable))
	if c.clientID != "" {
		c.clientSecret = cmp.Or(c.clientSecret, os.Getenv(clientVariable))
	}
	switch {
	case c.webhook == "" && c.redirect == "":
		return usage(
			"what is to be checked? Name the application's webhook URL with --webhook and --secret-file, and its " +
				"redirect URL with --redirect",
		)
	case c.webhook != "" && c.secret == "":
		return usage(
			"--webhook needs the webhook secret that the application verifies with: --secret-file or %s",
			secretVariable,
		)
	case (c.clientID == "") != (c.clientSecret == ""):
		return usage("--client-id and --client-secret-file (or %s) go together; give both or none", clientVariable)
	}
	for _, u := range []struct{ flag, value string }{{"--webhook", c.webhook}, {"--redirect", c.redirect}} {
		if u.value == "" {
			continue
		}
		if _, err := validate.URL(u.flag, u.value, true); err != nil {
			return &failure{exitUsage, err}
		}
	}
	if c.brand != "" {
		if err := (partner.Change{Brand: &c.brand}).Valid(); err != nil {
			return &failure{exitUsage, err}
		}
	}
	return nil
}

// run runs all checks and reports them.
func (c *checked) run(cmd *cobra.Command) error {
	all := newReport(cmd, c.service.asJSON, c.verbose)
	client := courier.New(courier.Options{AllowPrivate: true, UserAgent: "claviger-check/" + app.ThisBuild().Version})
	defer client.Close()
	runner := &scenario.Runner{
		After: all.add,
		Runner: diagnose.Runner{Client: client, Now: app.Now, Target: diagnose.Target{
			URL:      c.webhook,
			Redirect: c.redirect,
			Brand:    c.brand,
			Strict:   c.strict,
			Secrets:  courier.NewSecrets(c.secret),
		}},
	}
	for _, part := range []struct {
		given string
		flag  string
		name  string
		list  []scenario.Scenario
	}{
		{c.webhook, "--webhook", "webhook", scenario.All()},
		{c.redirect, "--redirect", scenario.Redirect, []scenario.Scenario{scenario.RedirectURL()}},
	} {
		if part.given == "" {
			if err := all.skip(
				cmd.Context(), part.name, "all of it", "there is no "+part.flag,
				"Give "+part.flag+" to have it checked.",
			); err != nil {
				return err
			}
			continue
		}
		if _, err := runner.Run(cmd.Context(), part.list...); err != nil {
			return err
		}
	}
	if err := c.loop(cmd.Context(), all); err != nil {
		return err
	}
	return all.finish(cmd, c.junit)
}

// unreached are the causes that mean there is no server.
var unreached = []diagnose.Cause{diagnose.CauseDNS, diagnose.CauseUnreachable, diagnose.CauseRefused}

// verdict returns the command's error. An endpoint that answered no step was not reached, which
// differs from an application with mistakes.
func verdict(results []diagnose.Result) error {
	answered := map[bool]bool{} // by whether it is the redirect URL
	for _, r := range results {
		if r.Answer != "" {
			answered[r.Scenario == scenario.Redirect] = true
		}
	}
	var failed, away int
	for _, r := range results {
		switch {
		case r.Verdict != diagnose.Fail:
		case slices.Contains(unreached, r.Cause) && !answered[r.Scenario == scenario.Redirect]:
			away++
		default:
			failed++
		}
	}
	switch {
	case failed > 0:
		return &failure{exitCheck, fmt.Errorf("%d of %d checks failed", failed+away, len(results))}
	case away > 0:
		return &failure{
			exitUnreachable,
			errors.New("the application was not reached; is it running, and are the URLs right?"),
		}
	}
	return nil
}

// loop runs the checks of a whole connection, or reports why it does not.
func (c *checked) loop(ctx context.Context, all *checkReport) error {
	l, why, do := c.openLoop(ctx)
	if why != "" {
		return all.skip(ctx, loopName, "code to token to license", why, do)
	}
	return l.run(ctx, all)
}
