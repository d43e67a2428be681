package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"claviger/internal/app"
)

func secretCommand() *cobra.Command {
	cmd := group(
		"secret",
		"Replace the key that seals stored secrets",
		"The secret key seals what the service must be able to read again: webhook secrets, signing keys, one-time "+
			"codes, mails that wait.",
	)
	cmd.AddCommand(secretRotateCommand())
	return cmd
}

func secretRotateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rotate", Short: "Seal everything with the new secret key",
		Long: "Seals what was sealed with secret-key-previous again, with secret-key. Client secrets, and the names " +
			"under which partners know users, do not change.\n\n" +
			"1. Make a key: openssl rand -hex 32. With several nodes, set it as secret-key-previous on each and " +
			"restart them one after another, so that all can open what it seals.\n" +
			"2. Set secret-key to the new key and secret-key-previous to the old one, on every node, and restart " +
			"them one after another.\n" +
			"3. Run this, with the same settings. It may be cut off and run again, while the service runs.\n" +
			"4. Remove secret-key-previous and restart. A start refuses while something opens with neither key. " +
			"Keep the old key as long as backups from before.",
		Example: "CLAVIGER_SECRET_KEY_FILE=new.key CLAVIGER_SECRET_KEY_PREVIOUS_FILE=old.key claviger secret rotate",
		Args:    exactly(),
	}
	g := settingFlags(cmd, app.Serve, "db", "secret-key", "secret-key-previous")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		if cfg.PreviousKey == "" {
			return usage(
				"secret-key-previous is not set: set it to the key in use until now, and secret-key to the new one " +
					"(claviger secret rotate --help has the steps)",
			)
		}
		db, err := app.OpenCurrent(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer db.Close() //nolint:errcheck // everything is written already
		total, err := app.Reseal(
			cmd.Context(),
			db,
			cfg,
			terminal("claviger secret"),
			func(what string, seen, changed int) {
				_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d seen, %d sealed again\n", what, seen, changed)
			},
		)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(
			cmd.OutOrStdout(),
			"%d values sealed again. Remove secret-key-previous and restart; keep the old key as long as backups "+
				"from before.\n",
			total,
		)
		return err
	}
	return cmd
}
