package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"claviger/internal/app"
)

func doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Try what an install needs, and say what to do where something is missing",
		Long: "Tries the database (reachable, writable, its schema, its clock), the secret key, the mail server, " +
			"Stripe (one request), the ledger, the ports, the public address, the disk and the modes of files, " +
			"with the settings of claviger serve and the credentials of its systemd unit. It changes nothing. " +
			"A line for each: pass, warn, fail or skip, what was found, and what to do.\n\n" +
			"Run it beside the service, with the same settings. Ends with 4 when a check failed.",
		Example: "claviger doctor --config claviger.toml",
		Args:    exactly(),
	}
	g := settingFlags(cmd, app.Serve)
	g.credentials = true
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON array")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		return printFindings(cmd, app.Examine(cmd.Context(), cfg), asJSON)
	}
	return cmd
}

// printFindings prints the checks, and fails if one failed.
func printFindings(cmd *cobra.Command, list []app.Finding, asJSON bool) error {
	if err := (answer{json: list, out: findingsText(list)}).print(cmd, asJSON); err != nil {
		return err
	}
	return failedFindings(list)
}

// findingsText returns the checks as a table. On a terminal it has lines, because the texts are too
// long for columns.
func findingsText(list []app.Finding) string {
	if !isTerminal(os.Stdout) {
		rows := make([][]string, 0, len(list))
		for _, f := range list {
			rows = append(rows, []string{string(f.Result), f.Name, f.Text, f.Do})
		}
		return table([]string{"result", "check", "found", "what to do"}, rows)
	}
	text := ""
	for _, f := range list {
		text += fmt.Sprintf("%s  %-12s  %s\n", colored(string(f.Result), len(app.Skipped)), f.Name, f.Text)
		if f.Do != "" {
			text += strings.Repeat(" ", len(app.Skipped)+2+12+2) + f.Do + "\n"
		}
	}
	return text
}

// failedFindings returns an error if a check failed.
func failedFindings(list []app.Finding) error {
	n := 0
	for _, f := range list {
		if f.Result == app.Failed {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return &failure{exitCheck, fmt.Errorf("%d of %d checks failed", n, len(list))}
}
