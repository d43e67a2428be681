package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"claviger/internal/app"
)

func serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the service",
		Long: "Runs the service until it is interrupted. With nothing set it keeps its data in claviger.db in the " +
			"current folder, " +
			"and says what an install that others rely on must set.\n\n" +
			"Every flag can also be a variable (--public-url is CLAVIGER_PUBLIC_URL) or a key in the file given " +
			"with --config; the flag wins, then the variable. " +
			"claviger config check shows what is in force.",
		Example: "claviger serve\n" +
			"claviger serve --addr :8080 --public-url https://licenses.example.com --db " +
			"/var/lib/claviger/claviger.db\n" +
			"claviger serve --config /etc/claviger.toml",
		Args: exactly(),
	}
	g := settingFlags(cmd, app.Serve)
	fresh := newDatabaseFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, _, err := g.load()
		if err != nil {
			return err
		}
		cfg.Log = cfg.Logger(os.Stderr)
		cfg.Hurry = secondSignal()
		cfg.NewDatabase = *fresh
		build := app.ThisBuild()
		cfg.Log.Info("starting claviger", "version", build.Version, "commit", build.Commit, "go", build.Go)
		for _, line := range cfg.Advice() {
			cfg.Log.Warn(line)
		}
		app.SpendMemory()
		service, err := app.New(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		return service.Run(cmd.Context())
	}
	return cmd
}

// newDatabaseFlag adds the flag without which no new SQLite database is made beside a filled log.
func newDatabaseFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("new-database", false,
		"Begin a new SQLite database although the log of a lost one lies there; the log is renamed")
}

// secondSignal returns a channel that is closed by the second signal to stop. The third one ends the
// program immediately.
func secondSignal() <-chan struct{} {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	second := make(chan struct{})
	go func() {
		<-signals
		<-signals
		signal.Stop(signals)
		close(second)
	}()
	return second
}
