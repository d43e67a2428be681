package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"claviger/internal/app"
)

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return printJSON(cmd.OutOrStdout(), app.ThisBuild())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), app.ThisBuild())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON object")
	return cmd
}
