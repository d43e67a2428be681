package main

import (
	"errors"

	"github.com/spf13/cobra"

	"claviger/internal/app"
)

func configCommand() *cobra.Command {
	cmd := group("config", "Look at the settings", "")
	cmd.AddCommand(configCheckCommand())
	return cmd
}

func configCheckCommand() *cobra.Command {
	var asJSON, try bool
	cmd := &cobra.Command{
		Use: "check", Short: "Print the settings in force and where they came from",
		Long: "Prints every setting of claviger serve as it is in force, and where it came from: a flag, a " +
			"CLAVIGER_ variable, the file or the default. " +
			"Secrets are hidden. With --try it also does what claviger doctor does. Ends with 4 when a setting is " +
			"wrong or unknown, or a check failed.",
		Example: "claviger config check --config claviger.toml\nclaviger config check --try",
		Args:    exactly(),
	}
	g := settingFlags(cmd, app.Serve)
	g.credentials = true
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON object")
	cmd.Flags().
		BoolVar(&try, "try", false, "Try them, too: the database, mail, the public address and the rest, as "+
			"claviger doctor does")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, origins, err := g.load()
		var advice []string
		if err == nil {
			advice = cfg.Advice()
		}
		var found []app.Finding
		if err == nil && try {
			found = app.Examine(cmd.Context(), cfg)
		}
		if printErr := printSettings(cmd, origins, advice, found, asJSON); printErr != nil {
			return printErr
		}
		if err != nil {
			return &failure{exitCheck, errors.Unwrap(err)}
		}
		return failedFindings(found)
	}
	return cmd
}

// printSettings writes the current settings to standard output. The advice is part of JSON;
// otherwise it goes to standard error.
func printSettings(cmd *cobra.Command, origins []app.Origin, advice []string, found []app.Finding, asJSON bool) error {
	type setting struct {
		Value string `json:"value"`
		From  string `json:"from"`
	}
	all := map[string]setting{}
	rows := make([][]string, 0, len(origins))
	for _, o := range origins {
		all[o.Name] = setting{o.Shown, o.From}
		rows = append(rows, []string{o.Name, o.Shown, o.From})
	}
	object := map[string]any{"settings": all, "advice": append([]string{}, advice...)}
	a := answer{json: object, out: table([]string{"setting", "value", "from"}, rows)}
	if found != nil {
		object["checks"] = found
		a.out += "\n" + findingsText(found)
	}
	for _, line := range advice {
		a.then += "advice: " + line + "\n"
	}
	return a.print(cmd, asJSON)
}
