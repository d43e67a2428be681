package main

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"claviger/internal/app"
	"claviger/internal/cluster"
)

// nodeLine is a node in JSON.
type nodeLine struct {
	Host      string    `json:"host"`
	Version   string    `json:"version"`
	State     string    `json:"state"`
	StartedAt time.Time `json:"started_at"`
	Shards    int       `json:"shards"`
	BeatAt    time.Time `json:"beat_at"`
}

func nodesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "nodes", Short: "List the nodes that serve the database, with their versions",
		Long: "Lists the nodes that serve the database: host, version, state, start, shards and last beat. A node " +
			"that fell silent is listed for a minute. On SQLite it is the one process.",
		Args: exactly(),
	}
	g := settingFlags(cmd, app.Serve, "db")
	asJSON := cmd.Flags().Bool("json", false, "Print one JSON array")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		db, err := app.OpenCurrent(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		defer db.Close() //nolint:errcheck // nothing was written
		members, err := cluster.List(cmd.Context(), db)
		if err != nil {
			return err
		}
		list := make([]nodeLine, len(members))
		for i, m := range members {
			list[i] = nodeLine{m.Host, m.Version, stateOf(m), m.StartedAt, m.Shards, m.BeatAt}
		}
		return printList(cmd, *asJSON, list, []string{"host", "version", "state", "started", "shards", "last beat"},
			func(n nodeLine) []string {
				return []string{
					n.Host,
					n.Version,
					n.State,
					n.StartedAt.Format(time.RFC3339),
					strconv.Itoa(n.Shards),
					n.BeatAt.Format(time.RFC3339),
				}
			})
	}
	return cmd
}

func stateOf(m cluster.Member) string {
	switch {
	case m.Silent:
		return "silent"
	case m.Leaving:
		return "leaving"
	}
	return "working"
}
