package main

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"claviger/internal/app"
	"claviger/internal/sqldb"
)

func migrateFinishCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "finish", Short: "Delete what only older versions need in the database",
		Long: "Applies the contracting migrations, which delete what only older versions of the program need. From " +
			"then on these versions cannot run on the database. It says what it deletes, and asks.\n\n" +
			"It refuses while a node that needs the old form has beaten in the last minute; on SQLite, while the " +
			"service runs. Without it, the next release does the same when it starts.",
		Args: exactly(),
	}
	g := settingFlags(cmd, app.Serve, "db")
	yes := cmd.Flags().Bool("yes", false, "Do not ask")
	asJSON := cmd.Flags().Bool("json", false, "Print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		db, err := app.OpenCurrent(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer db.Close() //nolint:errcheck // everything is written already
		schema, err := db.Schema(cmd.Context())
		if err != nil {
			return err
		}
		if len(schema.Contractions) > 0 && !*yes {
			if err := askFinish(cmd, schema.Contractions); err != nil {
				return err
			}
		}
		names, err := app.FinishMigration(cmd.Context(), db)
		if err != nil {
			return err
		}
		return report(cmd, *asJSON, "applied", names, "there is nothing to delete")
	}
	return cmd
}

// askFinish says what is lost, and continues only after yes.
func askFinish(cmd *cobra.Command, list []sqldb.Contraction) error {
	text := "This deletes what older versions need. Only a backup brings it back.\n"
	for _, m := range list {
		text += fmt.Sprintf("  %s: %s Versions before %s cannot run afterwards.\n", m.Name, m.Loss, m.Since)
	}
	if _, err := fmt.Fprint(cmd.ErrOrStderr(), text+"Type yes to continue: "); err != nil {
		return err
	}
	answer, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n') // an error leaves the answer empty
	if strings.TrimSpace(answer) != "yes" {
		return usage("nothing was changed; answer yes, or give --yes")
	}
	return nil
}
