package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"claviger/internal/app"
	"claviger/internal/fault"
	"claviger/internal/validate"
)

// The exit codes of every command.
const (
	exitDone        = 0
	exitRefused     = 1
	exitUsage       = 2
	exitUnreachable = 3
	exitCheck       = 4
)

// failure is an error with its exit code.
type failure struct {
	code int
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// usage returns the error for a wrong command line.
func usage(format string, args ...any) error {
	return &failure{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.code
	}
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, app.ErrUnreachable):
		return exitUnreachable
	default:
		return exitRefused
	}
}

// execute runs the command line and returns the exit code. The first interrupt ends the command in
// order, the second ends the program immediately.
func execute(ctx context.Context) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	err := newRoot().ExecuteContext(ctx) //nolint:contextcheck // cobra passes ctx to each command
	if err != nil {
		printError(err)
	}
	return exitCode(err)
}

// newRoot returns the whole tree of commands.
func newRoot() *cobra.Command {
	root := group(
		"claviger",
		"A licensing service for partner applications",
		"Sells software licenses on behalf of partner applications, tells them what happens to each, and lets them "+
			"ask.\n\n"+
			"Try it out with claviger dev; run it for others with claviger serve.",
	)
	root.Version = app.ThisBuild().Version
	root.SilenceUsage = true
	root.SilenceErrors = true // errors are one line, see printError
	root.PersistentPreRunE = readSecrets
	setHelp(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			return unknownCommand(cmd, words[0]) // its flags are unknown, too
		}
		return &failure{exitUsage, nearFlag(cmd, err)}
	})
	root.AddCommand(
		serveCommand(),
		devCommand(),
		checkCommand(),
		verifyCommand(),
		triggerCommand(),
		partnerCommand(),
		waitCommand(),
		listenCommand(),
		migrateCommand(),
		nodesCommand(),
		tokenCommand(),
		operatorCommand(),
		licensesCommand(),
		importCommand(),
		exportCommand(),
		deliveriesCommand(),
		keysCommand(),
		secretCommand(),
		stripeCommand(),
		backupCommand(),
		restoreCommand(),
		erasedCommand(),
		configCommand(),
		doctorCommand(),
		healthCommand(),
		versionCommand(),
		manCommand(),
	)
	return root
}

// group returns a command that only contains others.
func group(use, short, long string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long,
		Args:                       cobra.ArbitraryArgs,
		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
}

// unknownCommand returns the error for an unknown command of a group, with a suggestion.
func unknownCommand(cmd *cobra.Command, name string) error {
	hint := ""
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage("unknown command %q for %q%s", name, cmd.CommandPath(), hint)
}

// nearFlag adds a suggestion to the error for an unknown flag.
func nearFlag(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := validate.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, near)
	}
	return err
}

// otherNamesOfAdd are words that people try instead of add.
var otherNamesOfAdd = []string{"create", "new", "make"}

// exactly is cobra.ExactArgs with our exit code and the arguments by name.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage("%s needs <%s>", cmd.CommandPath(), names[len(args)])
		case len(args) > len(names):
			return usage("%s does not take %q", cmd.CommandPath(), args[len(names)])
		default:
			return nil
		}
	}
}

// printError writes an error in one line to standard error.
func printError(err error) {
	text := strings.TrimPrefix(err.Error(), "claviger: ")
	if f := fault.Of(err); f != nil {
		text = strings.TrimSuffix(f.Text, ".") // the text is for people; the code is for programs
	}
	_, _ = fmt.Fprintln(os.Stderr, "claviger: "+text)
}

// isTerminal reports whether the file is a terminal.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) } //nolint:gosec // descriptors are small
