package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"claviger/internal/account"
	"claviger/internal/app"
)

func backupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "backup <file>", Short: "Write a copy of the database, also while the service runs",
		Long: "Writes the SQLite database as it is at one moment into a file that is not there yet, readable by its " +
			"owner alone, and checks it. The service continues meanwhile. " +
			"The secret key is not in it: keep a copy of it elsewhere, a backup without it is useless. The setting " +
			"backup-dir makes the service write backups by itself. PostgreSQL has its own tools, pg_dump and " +
			"pg_basebackup; claviger backup report says when they last succeeded.",
		Example: "claviger backup /backups/claviger-2027-01-31.db",
		Args:    exactly("file"),
	}
	g := settingFlags(cmd, app.Serve, "db")
	asJSON := cmd.Flags().Bool("json", false, "Print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		unrecorded, err := app.Backup(cmd.Context(), cfg, args[0])
		if err != nil {
			return err
		}
		if unrecorded != nil {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "the service is not told of this backup: %v\n", unrecorded)
		}
		return answer{
			json: map[string]string{"file": args[0]},
			note: "wrote " + args[0] + "; store the secret key apart from it, and restore it with claviger restore\n",
		}.print(cmd, *asJSON)
	}
	cmd.AddCommand(backupReportCommand())
	return cmd
}

func backupReportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "report", Short: "Store when a tool of your own last made a good backup",
		Long: "Stores when a backup by a tool of your own was begun, such as pg_dump. Run it after each backup that " +
			"succeeded: the metric claviger_backup_age_seconds and its alert are about this time. A time in the " +
			"future, or before the stored one, is refused.",
		Example: "claviger backup report --at 2027-01-31T03:00:00Z",
		Args:    exactly(),
	}
	g := settingFlags(cmd, app.Serve, "db")
	var at string
	cmd.Flags().StringVar(&at, "at", "",
		"When the backup was begun, such as 2027-01-31T03:00:00Z, or 2h for two hours ago")
	asJSON := cmd.Flags().Bool("json", false, "Print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		begun, err := parseTime("--at", at, app.Now(), -1)
		if err == nil && at == "" {
			err = usage("--at is missing: when was the backup begun?")
		}
		if err != nil {
			return err
		}
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		if err := app.ReportBackup(cmd.Context(), cfg, begun); err != nil {
			return err
		}
		return answer{
			json: map[string]time.Time{"at": begun},
			note: "the last good backup is of " + begun.Format(time.RFC3339) + "\n",
		}.print(cmd, *asJSON)
	}
	return cmd
}

func erasedCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "erased", Short: "List the ids of everybody who was erased",
		Long: "Writes the ids of everybody who was erased, one to a line. Store the list beside the backups and " +
			"give it to claviger restore --erased: " +
			"an older backup still has those who were erased after it was made.",
		Example: "claviger erased > erased.txt",
		Args:    exactly(),
	}
	g := settingFlags(cmd, app.Serve, "db")
	asJSON := cmd.Flags().Bool("json", false, "Print one JSON array; claviger restore reads lines")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return withAccounts(cmd.Context(), g, func(b *account.Store) error {
			ids, err := b.Erased(cmd.Context())
			if err != nil {
				return err
			}
			var lines strings.Builder
			for _, id := range ids {
				fmt.Fprintln(&lines, id)
			}
			return answer{json: append([]int64{}, ids...), out: lines.String()}.print(cmd, *asJSON)
		})
	}
	return cmd
}

func restoreCommand() *cobra.Command {
	var finish, asJSON bool
	var erased string
	var gap int64
	cmd := &cobra.Command{
		Use: "restore <file>", Short: "Replace the database by a backup, with the service stopped",
		Long: "Checks the backup, copies it beside the SQLite database and puts the copy in its place, all or " +
			"nothing; the old database is kept beside it. The service must be stopped.\n\n" +
			"Since the backup was made, partners have seen events and licenses that it does not know, so all ids go " +
			"on higher, by --gap. " +
			"Who was erased since is in the backup still: --erased names the list that claviger erased wrote, and " +
			"they are erased again.\n\n" +
			"With --finish it does only that, on a database that other tools have restored: PostgreSQL's, or a file " +
			"that you have put back yourself. To do it twice does no harm.",
		Example: "claviger restore /backups/claviger-2027-01-31.db --erased erased.txt\n" +
			"claviger restore --finish --erased erased.txt --db postgres://user:password@host/name",
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if finish {
			return exactly()(cmd, args)
		}
		return exactly("file")(cmd, args)
	}
	g := settingFlags(cmd, app.Serve, "db")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON object")
	cmd.Flags().BoolVar(&finish, "finish", false, "Finish what other tools have restored")
	cmd.Flags().StringVar(&erased, "erased", "", "File with the ids of who was erased, one to a line")
	cmd.Flags().Int64Var(&gap, "gap", app.DefaultGap, "How far ids are moved on: more than were made since the backup")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		if gap < 0 || gap > maxGap {
			return usage("--gap %d is not a number from 0 to %d", gap, int64(maxGap))
		}
		f := app.Finishing{By: terminal("claviger restore"), Gap: gap}
		if f.Erased, err = readIDs(erased); err != nil {
			return err
		}
		if finish {
			done, err := app.Finish(cmd.Context(), cfg, f)
			if err != nil {
				return err
			}
			return tellFinished(cmd, done, asJSON, "", "", "")
		}
		kept, done, err := app.Restore(cmd.Context(), cfg, args[0], f)
		if err != nil {
			return err
		}
		return tellFinished(cmd, done, asJSON, args[0], cfg.DB, kept)
	}
	return cmd
}

// maxGap allows many restores: ids must be exact numbers in JavaScript.
const maxGap = 1_000_000_000_000

// restoreLine is the output of --json.
type restoreLine struct {
	Restored   string `json:"restored,omitempty"` // the backup; "" with --finish
	Kept       string `json:"kept,omitempty"`     // where the old database is
	Gap        int64  `json:"gap"`
	Deliveries int64  `json:"deliveries"`
	Mails      int64  `json:"mails"`
	Erased     int64  `json:"erased"`
	Unknown    int64  `json:"unknown"`
}

// tellFinished prints the locations after a restore, the changes to the data and their consequences.
// Without from, only the latter.
func tellFinished(cmd *cobra.Command, done app.Finished, asJSON bool, from, to, kept string) error {
	line := restoreLine{
		from, kept, done.Gap, int64(done.Deliveries), int64(done.Mails), int64(done.Erased), int64(done.Unknown),
	}
	text := ""
	if from != "" {
		text = fmt.Sprintf("restored %s as %s\n", from, to)
	}
	if kept != "" {
		text += fmt.Sprintf("the old database is kept as %s; remove it when you no longer need it\n", kept)
	}
	text += fmt.Sprintf("ids continue %d higher\n", done.Gap)
	text += fmt.Sprintf(
		"when the service starts, %d webhook deliveries and %d mails that waited at the time of the backup go out "+
			"again\n",
		done.Deliveries,
		done.Mails,
	)
	if done.Erased+done.Unknown > 0 {
		text += fmt.Sprintf(
			"people who are erased again: %d; ids of the list that are not in the backup: %d\n",
			done.Erased,
			done.Unknown,
		)
	}
	return answer{json: line, out: text}.print(cmd, asJSON)
}

// readIDs reads a list of ids, one per line; an empty path is an empty list.
func readIDs(path string) ([]int64, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, usage("--erased: %v", err)
	}
	defer f.Close() //nolint:errcheck // it is only read
	var ids []int64
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		id, err := strconv.ParseInt(line, 10, 64)
		if err != nil || id < 1 {
			return nil, usage(
				"--erased: line %d of %s, %q, is not the id of a user; claviger erased writes such a list",
				n,
				path,
				line,
			)
		}
		ids = append(ids, id)
	}
	if err := lines.Err(); err != nil {
		return nil, usage("--erased: %v", err)
	}
	return ids, nil
}
