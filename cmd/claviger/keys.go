package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"claviger/internal/app"
	"claviger/internal/oauth"
)

func keysCommand() *cobra.Command {
	cmd := group(
		"keys",
		"List, rotate and revoke the keys that sign identity tokens",
		"An identity token tells a partner's application who signed in. It is signed by the active key of its "+
			"algorithm; the next key is published beside it "+
			"and takes over when the keys are rotated. A replaced key stays published until everything that it "+
			"signed has expired. Revoke a key that others may know.",
	)
	cmd.AddCommand(keysListCommand(), keysRotateCommand(), keysRevokeCommand())
	return cmd
}

// keyLine is a key in the output of --json.
type keyLine struct {
	ID          string `json:"kid"`
	Alg         string `json:"alg"`
	State       string `json:"state"`
	CreatedAt   string `json:"created_at"`
	SignsFrom   string `json:"signs_from,omitempty"`
	ServedUntil string `json:"served_until,omitempty"`
}

func printKeys(cmd *cobra.Command, list []oauth.Key, asJSON bool) error {
	lines := make([]keyLine, len(list))
	for i, k := range list {
		lines[i] = keyLine{
			k.ID, string(k.Alg), string(k.State), stamp(k.CreatedAt), stamp(k.ActivatesAt), stamp(k.ServedUntil),
		}
	}
	return printList(
		cmd, asJSON, lines, []string{"kid", "alg", "state", "created", "signs from", "served until"},
		func(l keyLine) []string {
			return []string{l.ID, l.Alg, l.State, l.CreatedAt, l.SignsFrom, l.ServedUntil}
		},
	)
}

func keysListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the keys that are published",
		Long: "Lists the keys, oldest first: previous, active and next of each algorithm. There are none before the " +
			"first start of claviger serve.",
		Args: exactly(),
	}
	g := settingFlags(cmd, app.Serve, "db")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON array")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		db, err := app.OpenCurrent(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer db.Close() //nolint:errcheck // Nothing was written.
		list, err := (&oauth.Keys{DB: db, Now: app.Now}).List(cmd.Context())
		if err != nil {
			return err
		}
		return printKeys(cmd, list, asJSON)
	}
	return cmd
}

// rotated are the algorithms for --alg; the zero one, also without --alg, means all.
var rotated = map[string]oauth.Alg{"RS256": oauth.RS256, "ES256": oauth.ES256, "all": ""}

func keysRotateCommand() *cobra.Command {
	var now, asJSON bool
	cmd := &cobra.Command{
		Use: "rotate", Short: "Let the next key sign, and make a new next one",
		Long: "Makes the next key the active one as soon as it has been published for a day, so that every " +
			"application has it by then, and makes a new next key immediately. " +
			"With --now it signs immediately; applications that keep the published keys may then refuse sign-ins " +
			"for up " +
			"to an hour. " +
			"The replaced key stays published; revoke one that others may know with claviger keys revoke. " +
			"Services that are running notice within a second.",
		Example: "claviger keys rotate\nclaviger keys rotate --alg RS256 --now",
		Args:    exactly(),
	}
	g := settingFlags(cmd, app.Serve, "db", "secret-key", "secret-key-previous")
	alg := wordFlag(cmd, "alg", "Which keys; all without it", "RS256", "ES256", "all")
	cmd.Flags().BoolVar(&now, "now", false, "Do not wait until the next key has been published for a day")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON array")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		which := rotated[*alg]
		return changeKeys(cmd, g, asJSON, func(k *oauth.Keys) ([]oauth.Key, error) {
			list, err := k.Rotate(cmd.Context(), terminal("claviger keys"), which, now)
			if err != nil {
				return nil, err
			}
			return list, tellRotation(cmd.ErrOrStderr(), list, which)
		})
	}
	return cmd
}

func keysRevokeCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "revoke <kid>", Short: "Remove a key that others may know",
		Long: "Removes a key immediately: it is no longer published, and its signatures are no longer accepted. " +
			"If it signs, or is to sign next, the next key is removed with it, and new keys are made that sign at " +
			"once. " +
			"Services that are running notice within a second. Applications keep the published keys for up to an " +
			"hour: ask your partners to fetch them again. A kid that begins with a dash is written after --.",
		Example: "claviger keys list\nclaviger keys revoke NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
		Args:    exactly("kid"),
	}
	g := settingFlags(cmd, app.Serve, "db", "secret-key", "secret-key-previous")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON array")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return changeKeys(cmd, g, asJSON, func(k *oauth.Keys) ([]oauth.Key, error) {
			return k.Revoke(cmd.Context(), terminal("claviger keys"), args[0])
		})
	}
	return cmd
}

// changeKeys opens the keys, changes them and prints the result.
func changeKeys(cmd *cobra.Command, g *given, asJSON bool, change func(*oauth.Keys) ([]oauth.Key, error)) error {
	cfg, _, err := g.load()
	if err != nil {
		return err
	}
	db, err := app.OpenCurrent(cmd.Context(), cfg)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // everything is written already
	box, err := app.Sealer(cmd.Context(), db, cfg)
	if err != nil {
		return err
	}
	list, err := change(&oauth.Keys{DB: db, Sealer: box, Now: app.Now})
	if err != nil {
		return err
	}
	return printKeys(cmd, list, asJSON)
}

// tellRotation prints which key of each rotated algorithm signs, and from when.
func tellRotation(w io.Writer, list []oauth.Key, which oauth.Alg) error {
	for i, k := range list {
		newest := i+1 < len(list) && list[i+1].Alg == k.Alg && list[i+1].ActivatesAt.IsZero()
		if !newest || which != "" && k.Alg != which {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s: %s signs from %s on\n", k.Alg, k.ID, stamp(k.ActivatesAt)); err != nil {
			return err
		}
	}
	return nil
}
