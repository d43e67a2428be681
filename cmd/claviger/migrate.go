package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"claviger/internal/app"
)

func migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "migrate", Short: "Bring the database's schema up to date",
		Long: "Applies the migrations that are missing, all or none, and names them. claviger serve does the same on start unless its setting migrate is false. " +
			"Nodes of the version before keep working on the new schema.",
		Args: exactly(),
	}
	g := settingFlags(cmd, app.Serve, "db")
	asJSON := cmd.Flags().Bool("json", false, "Print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		db, err := app.Open(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer db.Close() //nolint:errcheck // All that was to be written is written.
		names, err := db.Migrate(cmd.Context())
		if err != nil {
			return err
		}
		return report(cmd, *asJSON, "applied", names, "the schema is up to date")
	}
	cmd.AddCommand(migrateStatusCommand(), migrateCopyCommand())
	return cmd
}

func migrateStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "Name the migrations that are missing",
		Long: "Names the migrations that claviger migrate would apply, and changes nothing. Ends with 0 when there are none and with 4 when there are some.",
		Args: exactly(),
	}
	g := settingFlags(cmd, app.Serve, "db")
	asJSON := cmd.Flags().Bool("json", false, "Print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		db, err := app.OpenExisting(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer db.Close() //nolint:errcheck // Nothing was written.
		names, err := db.Pending(cmd.Context())
		if err != nil {
			return err
		}
		if err := report(cmd, *asJSON, "pending", names, "the schema is up to date"); err != nil {
			return err
		}
		if len(names) > 0 {
			return &failure{exitCheck, fmt.Errorf("%d migrations are pending; run claviger migrate", len(names))}
		}
		return nil
	}
	return cmd
}

// report writes a line per name, or one that says there are none.
func report(cmd *cobra.Command, asJSON bool, word string, names []string, none string) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), map[string][]string{word: append([]string{}, names...)})
	}
	if len(names) == 0 {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), none)
		return err
	}
	for _, name := range names {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), word+"\t"+name); err != nil {
			return err
		}
	}
	return nil
}
