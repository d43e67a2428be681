package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"claviger/internal/app"
)

// given are the settings on a command line.
type given struct {
	mode   app.Mode
	values map[string]string
	file   string

	stripeSetup bool // see app.Sources
	credentials bool // settings may also come from the credentials of the systemd unit
}

// settingFlags adds a flag for each setting of the mode, or only for the named ones, and --config.
func settingFlags(cmd *cobra.Command, mode app.Mode, only ...string) *given {
	g := &given{mode: mode, values: map[string]string{}}
	for _, s := range app.Settings(mode) {
		// Each command on the database may need the way past a pooler.
		named := slices.Contains(only, s.Name) || s.Name == "db-direct-url" && slices.Contains(only, "db")
		if len(only) > 0 && !named {
			continue
		}
		f := cmd.Flags().VarPF(&settingFlag{g.values, s.Name, s.Value, s.Default}, s.Name, "", s.Help)
		if len(s.Words) > 0 {
			completeWords(cmd, s.Name, s.Words...)
		}
		if s.Switch {
			f.NoOptDefVal = "true"
		}
		if s.Secret {
			cmd.Flags().
				Var(&settingFlag{g.values, s.Name + "-file", "file", ""}, s.Name+"-file", "File that holds the "+
					"value of --"+s.Name+"; - is standard input")
			markSecret(cmd.Flags(), s.Name, secretKind(s), s.Variable())
		}
	}
	cmd.Flags().StringVar(&g.file, "config", "", "File with settings in TOML; their names are those of the flags")
	return g
}

// secretKind returns the annotation of a secret setting: a URL is a secret only if it has a
// password.
func secretKind(s app.Setting) string {
	if strings.Contains(s.Value, "url") {
		return urlAnnotation
	}
	return secretAnnotation
}

// settingFlag stores the text of a flag for Load, which checks it.
type settingFlag struct {
	values      map[string]string
	name, value string
	preset      string
}

func (f *settingFlag) String() string { return f.preset }
func (f *settingFlag) Type() string   { return f.value }

func (f *settingFlag) Set(s string) error {
	f.values[f.name] = s
	return nil
}

// load reads the settings from all sources. A mistake in them is a usage error.
func (g *given) load() (app.Config, []app.Origin, error) {
	src := app.Sources{Flags: g.values, Environ: os.Environ(), File: g.file, StripeSetup: g.stripeSetup}
	if g.credentials {
		src.Credentials = app.Credentials(os.Environ(), "/")
	}
	cfg, origins, err := app.Load(g.mode, src)
	if err != nil {
		return cfg, origins, &failure{exitUsage, err}
	}
	return cfg, origins, nil
}
