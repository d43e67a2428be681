package main

import (
	"cmp"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"claviger/internal/devserver"
)

func devFaultCommand() *cobra.Command {
	var address string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "fault [name...]", Short: "Have things go wrong in a running claviger dev",
		Long: "Switches on exactly the faults that are named, of " + strings.Join(
			devserver.FaultNames(),
			", ",
		) + "; off switches all of them off. " +
			"They go wrong between the service and your application; the control page, /dev/, says how. Without a " +
			"name it prints those that are on.",
		Example: "claviger dev fault duplicate wrong-signature\nclaviger dev fault off",
		Args:    cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.FixedCompletions(
			append(devserver.FaultNames(), "off"),
			cobra.ShellCompDirectiveNoFileComp,
		),
	}
	cmd.Flags().StringVar(&address, "url", "", "URL of the claviger dev; else "+urlVariable+", or "+devURL)
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		method := http.MethodGet
		if len(args) > 0 {
			method = http.MethodPost
		}
		var faults struct {
			On []string `json:"on"`
		}
		if err := callDev(
			cmd, method, cmp.Or(address, os.Getenv(urlVariable), devURL), "/dev/faults",
			url.Values{"fault": args}, &faults,
		); err != nil {
			return err
		}
		return answer{json: faults, out: cmp.Or(strings.Join(faults.On, " "), "off") + "\n"}.print(cmd, asJSON)
	}
	return cmd
}
