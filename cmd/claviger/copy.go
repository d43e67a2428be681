package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"claviger/internal/app"
	"claviger/internal/sqldb/dbcopy"
)

func migrateCopyCommand() *cobra.Command {
	var from, to string
	var giveUp, asJSON bool
	cmd := &cobra.Command{
		Use: "copy", Short: "Move all data between SQLite and PostgreSQL, with the service stopped",
		Long: "Copies every table of one database into another, empty one, in either direction, reads both again " +
			"and compares every row. " +
			"Repeated after an interruption, it continues where it ended. At the end the old database is " +
			"marked as moved, and claviger serve refuses it: both would send webhooks and mails.\n\n" +
			"The secret key stays the same. It is that of the old database, from its key file or the setting " +
			"secret-key, and must open what is stored.\n\n" +
			"With --give-up, the database of --from can be used again although its copy has not ended; what was " +
			"copied is to be removed.",
		Example: "claviger migrate copy --from claviger.db --to postgres://user:password@host/name\n" +
			"claviger migrate copy --from postgres://user:password@host/name --to claviger.db\n" +
			"claviger migrate copy --give-up --from claviger.db",
		Args: exactly(),
	}
	g := settingFlags(cmd, app.Serve, "secret-key", "secret-key-previous")
	secretURLVar(cmd, &from, "from", "Database that is moved: a file of SQLite or a URL of PostgreSQL")
	secretURLVar(cmd, &to, "to", "Empty database to move it to; a file of SQLite is made")
	cmd.Flags().BoolVar(&giveUp, "give-up", false, "Use the database of --from again")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch {
		case from == "":
			return usage("which database is moved? Name it with --from")
		case giveUp && to != "":
			return usage("--give-up takes --from alone")
		case !giveUp && to == "":
			return usage("where to? Name an empty database with --to")
		}
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		if giveUp {
			if err := app.GiveUpCopy(cmd.Context(), cfg, from); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.ErrOrStderr(), "the database can be used again; remove what was copied of it")
			return err
		}
		shown := &copyProgress{w: cmd.ErrOrStderr(), live: isTerminal(os.Stderr), last: time.Now()}
		done, hint, err := app.Copy(cmd.Context(), cfg, from, to, shown.tell)
		shown.end()
		if err != nil {
			return err
		}
		return tellCopied(cmd, asJSON, done, hint)
	}
	return cmd
}

// tellCopied lists the tables, which are now the same in both databases.
func tellCopied(cmd *cobra.Command, asJSON bool, done dbcopy.Result, hint string) error {
	type table struct {
		Table  string `json:"table"`
		Rows   int64  `json:"rows"`
		SHA256 string `json:"sha256"`
	}
	list := make([]table, 0, len(done.Tables))
	rows := int64(0)
	for _, t := range done.Tables {
		list = append(list, table{t.Name, t.Rows, t.Hash})
		rows += t.Rows
	}
	err := printList(cmd, asJSON, list, []string{"table", "rows", "sha256"}, func(t table) []string {
		return []string{t.Table, strconv.FormatInt(t.Rows, 10), t.SHA256}
	})
	if err != nil {
		return err
	}
	text := fmt.Sprintf(
		"copied and compared %d rows in %d tables; the old database is marked as moved, set db to the new one\n",
		rows,
		len(list),
	)
	if hint != "" {
		text += hint + "\n"
	}
	_, err = io.WriteString(cmd.ErrOrStderr(), text)
	return err
}

// copyProgress shows the progress of a copy: on a terminal in one changing line, in a log now and
// then in a new line.
type copyProgress struct {
	w     io.Writer
	live  bool
	last  time.Time
	shown bool
}

func (c *copyProgress) tell(p dbcopy.Progress) {
	every := 5 * time.Second
	form := "%s\n"
	if c.live {
		every = 200 * time.Millisecond
		form = "\r\x1b[K%s"
	}
	if time.Since(c.last) < every {
		return
	}
	c.last = time.Now()
	c.shown = true
	verb := "copying"
	if p.Verifying {
		verb = "comparing"
	}
	_, _ = fmt.Fprintf(
		c.w,
		form,
		fmt.Sprintf("%s table %d of %d, %s: %d rows so far", verb, p.Number, p.Tables, p.Table, p.Rows),
	) // it only shows
}

// end finishes the changing line.
func (c *copyProgress) end() {
	if c.live && c.shown {
		_, _ = fmt.Fprint(c.w, "\r\x1b[K") // it only shows
	}
}
