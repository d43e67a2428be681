package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"claviger/internal/app"
)

// helpWidth is the maximum line length of a help text.
const helpWidth = 100

// setHelp makes cobra's help break long lines and indent examples.
func setHelp(root *cobra.Command) {
	cobra.AddTemplateFunc("wrap", func(text string) string { return wrap(text, helpWidth) })
	cobra.AddTemplateFunc("indent", func(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") })
	root.SetHelpTemplate(
		strings.Replace(
			root.HelpTemplate(),
			"{{. | trimTrailingWhitespaces}}",
			"{{. | trimTrailingWhitespaces | wrap}}",
			1,
		),
	)
	root.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages |", fmt.Sprintf(".FlagUsagesWrapped %d |", helpWidth),
		"{{.Example}}", "{{.Example | indent}}",
	).Replace(root.UsageTemplate()))
}

// wrap breaks lines at spaces so that none exceeds width. Indented lines stay unchanged.
func wrap(text string, width int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		column := 0
		for i, word := range strings.Split(line, " ") {
			switch {
			case i == 0:
			case column+1+len(word) > width && !strings.HasPrefix(line, " "):
				b.WriteByte('\n')
				column = 0
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += len(word)
		}
	}
	return b.String()
}

// manCommand is for packagers of the program.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man [folder]", Short: "Write the man pages",
		Long: "Writes a man page for each command into the folder. Without a folder it prints the first one, " +
			"claviger(1), on standard output.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("%s does not take %q", cmd.CommandPath(), args[1])
			}
			return nil
		},
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			cmd.Root().DisableAutoGenTag = true
			header := &doc.GenManHeader{Section: "1", Source: "claviger " + app.ThisBuild().Version}
			if made, err := time.Parse(time.RFC3339, app.ThisBuild().Date); err == nil {
				header.Date = &made
			}
			if len(args) == 0 {
				return doc.GenMan(cmd.Root(), header, cmd.OutOrStdout())
			}
			if info, err := os.Stat(args[0]); err != nil || !info.IsDir() {
				return errors.New(args[0] + " is not a folder; make it first")
			}
			return doc.GenManTree(cmd.Root(), header, args[0])
		},
	}
}
