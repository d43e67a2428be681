package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"claviger/internal/app"
	"claviger/internal/release"
	"claviger/internal/sqldb"
)

func migrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "migrate", Short: "Bring the database's schema up to date",
		Long: "Applies the migrations that are missing, and names them. claviger serve does the same on start " +
			"unless its setting migrate is false. Nodes of the previous release continue to work, except on an " +
			"upgrade from before 1.0.0, which needs all nodes stopped. " +
			"What only older versions need is not deleted: claviger migrate finish does that.",
		Args: exactly(),
	}
	g := settingFlags(cmd, app.Serve, "db")
	fresh := newDatabaseFlag(cmd)
	asJSON := cmd.Flags().Bool("json", false, "Print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		cfg.NewDatabase = *fresh
		db, err := app.Open(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer db.Close() //nolint:errcheck // everything is written already
		names, err := app.Migrate(cmd.Context(), db)
		if err != nil {
			return err
		}
		return report(cmd, *asJSON, "applied", names, "the schema is up to date")
	}
	cmd.AddCommand(migrateStatusCommand(), migrateFinishCommand(), migrateCopyCommand())
	return cmd
}

func migrateStatusCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "status", Short: "Name the migrations that are missing",
		Long: "Names the migrations that claviger migrate would apply, and those that claviger migrate finish would, " +
			"and changes nothing. Ends with 4 when some are missing for claviger migrate, or when the database " +
			"needs a newer version of the program, else with 0.",
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
		schema, err := db.Schema(cmd.Context())
		if err != nil {
			return err
		}
		if err := printSchema(cmd, *asJSON, schema); err != nil {
			return err
		}
		if err := schema.TooNew(); err != nil {
			return &failure{exitCheck, err}
		}
		if n := len(schema.Pending); n > 0 {
			return &failure{exitCheck, fmt.Errorf("%d migrations are pending; run claviger migrate", n)}
		}
		return nil
	}
	return cmd
}

// printSchema writes a line for each migration that is missing, or one that there are none.
func printSchema(cmd *cobra.Command, asJSON bool, s sqldb.Schema) error {
	later := []string{}
	for _, m := range s.Contractions {
		later = append(later, m.Name)
	}
	a := answer{json: map[string]any{
		"version": release.Version, "oldest": s.Oldest, "pending": s.Pending, "contracting": later,
	}}
	if s.TooNew() == nil { // else the error says it
		a.out = namesText("pending", s.Pending, "the schema is up to date")
		if len(later) > 0 {
			a.out += namesText("for claviger migrate finish", later, "")
		}
	}
	return a.print(cmd, asJSON)
}

// report writes a line per name, or a line that there are none.
func report(cmd *cobra.Command, asJSON bool, word string, names []string, none string) error {
	json := map[string][]string{word: append([]string{}, names...)}
	return answer{json: json, out: namesText(word, names, none)}.print(cmd, asJSON)
}

// namesText returns a line per name, or a line that there are none.
func namesText(word string, names []string, none string) string {
	text := ""
	for _, name := range names {
		text += word + "\t" + name + "\n"
	}
	return cmp.Or(text, none+"\n")
}
