package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"claviger/internal/account"
	"claviger/internal/app"
)

func operatorCommand() *cobra.Command {
	cmd := group("operator", "Make a person an admin of the console",
		"Operators are the marketplace's own people. They work in the console, at /console/, each by role.\n"+
			"The first admin is made here; admins invite the others there.")
	cmd.AddCommand(operatorAddCommand())
	return cmd
}

// operatorLine is the output of --json.
type operatorLine struct {
	ID        int64  `json:"id"`
	Email     string `json:"email"`
	Role      string `json:"role"`
	Again     bool   `json:"again"` // was an operator before: second factors and sessions were removed
	URL       string `json:"url"`
	ExpiresAt string `json:"expires_at"`
}

func operatorAddCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "add <email>", SuggestFor: otherNamesOfAdd, Short: "Make an admin and print a sign-in link",
		Long: "Makes the person with that email address an admin of the console, and prints a link on standard " +
			"output that signs\n" +
			"them in once, within 30 minutes. The address of the service, --public-url, must be that of the running " +
			"one.\n\n" +
			"Run again for the same address, it also removes the person's second factors and ends their sessions: " +
			"for an admin who\n" +
			"is locked out. The audit says so, and a person who had a second factor is told by mail.",
		Example: "claviger operator add ann@market.example --public-url https://market.example",
		Args:    exactly("email"),
	}
	g := settingFlags(cmd, app.Serve, "db", "public-url", "addr", "name", "secret-key", "secret-key-previous")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		db, err := app.OpenCurrent(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer db.Close() //nolint:errcheck // everything is written already
		a, err := app.AddOperator(cmd.Context(), db, cfg, terminal("claviger operator"), args[0])
		if err != nil {
			return err
		}
		return printOperator(cmd, a, asJSON)
	}
	return cmd
}

// printOperator writes only the link to standard output, and the rest to standard error.
func printOperator(cmd *cobra.Command, a account.Added, asJSON bool) error {
	line := operatorLine{
		ID: a.User.ID, Email: a.User.Email, Role: string(a.User.Role), Again: a.Again, URL: a.URL,
		ExpiresAt: stamp(a.Expires),
	}
	did := "is an admin"
	if a.Again {
		did = "was an operator before: second factors and sessions are removed, and the role is admin"
	}
	return answer{
		json: line, out: a.URL + "\n",
		note: fmt.Sprintf("%s %s; this link signs them in once, until %s:\n", a.User.Email, did, line.ExpiresAt),
	}.print(cmd, asJSON)
}
