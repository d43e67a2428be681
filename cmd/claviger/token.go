package main

import (
	"cmp"
	"context"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"claviger/internal/account"
	"claviger/internal/app"
	"claviger/internal/audit"
	"claviger/internal/secret"
)

func tokenCommand() *cobra.Command {
	cmd := group("token", "Make, list and revoke operator tokens",
		"An operator token lets a program use /operator/v1. Its scopes say what for:\n\n"+
			"    read     look at everything\n"+
			"    sell     purchases, plan changes, refunds\n"+
			"    support  hold, reinstate, release, redeliver, sign-in links\n"+
			"    admin    partners, users, tokens, and all of the above")
	cmd.AddCommand(tokenAddCommand(), tokenListCommand(), tokenRevokeCommand())
	return cmd
}

// tokenLine is a token in the output of --json.
type tokenLine struct {
	ID        int64    `json:"id"`
	Name      string   `json:"name"`
	Scopes    []string `json:"scopes"`
	State     string   `json:"state"`
	CreatedAt string   `json:"created_at"`
	ExpiresAt string   `json:"expires_at,omitempty"`
	RevokedAt string   `json:"revoked_at,omitempty"`
	LastUsed  string   `json:"last_used_at,omitempty"` // updated at most once a minute
	Token     string   `json:"token,omitempty"`        // only if just created
}

func lineOf(t account.Token, now time.Time) tokenLine {
	l := tokenLine{
		ID: t.ID, Name: t.Name, Scopes: []string{}, State: "valid",
		CreatedAt: stamp(t.CreatedAt), ExpiresAt: stamp(t.ExpiresAt), RevokedAt: stamp(t.RevokedAt),
		LastUsed: stamp(t.LastUsed),
	}
	for _, s := range t.Scopes {
		l.Scopes = append(l.Scopes, string(s))
	}
	switch {
	case !t.RevokedAt.IsZero():
		l.State = "revoked"
	case !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt):
		l.State = "expired"
	}
	return l
}

// stamp formats a time to the second, or "" for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func tokenAddCommand() *cobra.Command {
	var name, scopes, expires string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "add", SuggestFor: otherNamesOfAdd, Short: "Make a token and print it once",
		Long: "Makes a token and prints it on standard output. Only a hash of it is stored, so it cannot be shown " +
			"again.",
		Example: "claviger token add --name checkout --scopes sell --expires 365d\n" +
			"claviger token add --name admin --scopes admin",
		Args: exactly(),
	}
	g := settingFlags(cmd, app.Serve, "db")
	cmd.Flags().StringVar(&name, "name", "", "Whose token it is, as the audit log will say")
	cmd.Flags().StringVar(&scopes, "scopes", "", "What it may do: read, sell, support, admin; several with commas")
	completeWords(cmd, "scopes", "read", "sell", "support", "admin")
	cmd.Flags().StringVar(
		&expires, "expires", "",
		"When it ends: after a time such as 12h or 90d, or on a day such as 2027-01-31; without it, never",
	)
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		now := app.Now()
		until, err := parseExpiry(expires, now)
		if err != nil {
			return err
		}
		if name == "" || scopes == "" {
			return usage("token add needs --name and --scopes (read, sell, support, admin)")
		}
		var wanted []account.Scope
		for s := range strings.SplitSeq(scopes, ",") {
			wanted = append(wanted, account.Scope(strings.TrimSpace(s)))
		}
		return withAccounts(cmd.Context(), g, func(b *account.Store) error {
			t, secret, err := b.AddToken(cmd.Context(), terminal("claviger token"), name, wanted, until, "")
			if err != nil {
				return err
			}
			return printNewToken(cmd, lineOf(t, now), secret, asJSON)
		})
	}
	return cmd
}

// printNewToken writes only the token to standard output, for scripts, and the rest to standard
// error.
func printNewToken(cmd *cobra.Command, l tokenLine, secret string, asJSON bool) error {
	l.Token = secret
	until := "no end"
	if l.ExpiresAt != "" {
		until = "end " + l.ExpiresAt
	}
	return answer{
		json: l, out: secret + "\n",
		note: fmt.Sprintf("token %d, %s, with %s, %s; store it, it is not shown again:\n",
			l.ID, l.Name, strings.Join(l.Scopes, ", "), until),
	}.print(cmd, asJSON)
}

func tokenListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "List all tokens, also those that have ended", Args: exactly()}
	g := settingFlags(cmd, app.Serve, "db")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON array")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withAccounts(cmd.Context(), g, func(b *account.Store) error {
			list, err := b.Tokens(cmd.Context())
			if err != nil {
				return err
			}
			lines := make([]tokenLine, len(list))
			for i, t := range list {
				lines[i] = lineOf(t, app.Now())
			}
			return printList(
				cmd, asJSON, lines, []string{"id", "name", "scopes", "state", "created", "expires", "last used"},
				func(l tokenLine) []string {
					return []string{
						strconv.FormatInt(l.ID, 10), l.Name, strings.Join(l.Scopes, ","), l.State,
						l.CreatedAt, l.ExpiresAt, cmp.Or(l.LastUsed, "never"),
					}
				},
			)
		})
	}
	return cmd
}

func tokenRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke <id>", Short: "Revoke a token",
		Long: "Ends a token immediately, also in a service that is running. claviger token list shows the ids.",
		Args: exactly("id"),
	}
	var asJSON bool
	g := settingFlags(cmd, app.Serve, "db")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := strconv.ParseInt(args[0], 10, 64)
		switch {
		case secret.IsKind(args[0]):
			return usage("that is a secret and not the id of a token; claviger token list shows the ids")
		case err != nil:
			return usage("%q is not the id of a token; claviger token list shows them", args[0])
		}
		return withAccounts(cmd.Context(), g, func(b *account.Store) error {
			t, err := b.RevokeToken(cmd.Context(), terminal("claviger token"), id)
			if err != nil {
				return err
			}
			note := fmt.Sprintf("token %d is revoked\n", id)
			return answer{json: lineOf(t, app.Now()), note: note}.print(cmd, asJSON)
		})
	}
	return cmd
}

// withAccounts opens the database of the settings and calls fn with its accounts.
func withAccounts(ctx context.Context, g *given, fn func(*account.Store) error) error {
	cfg, _, err := g.load()
	if err != nil {
		return err
	}
	db, err := app.OpenCurrent(ctx, cfg)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // everything is written already
	return fn(&account.Store{DB: db, Now: app.Now})
}

// terminal is the actor of a command on the database.
func terminal(command string) audit.Actor {
	name := command
	if u, err := user.Current(); err == nil {
		name += " by " + u.Username
	}
	return audit.System(name)
}
