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
			return answer{json: app.ThisBuild(), out: fmt.Sprintln(app.ThisBuild())}.print(cmd, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON object")
	return cmd
}
