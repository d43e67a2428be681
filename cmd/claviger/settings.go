package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"claviger/internal/app"
)

// given is what a command line says about the settings.
type given struct {
	mode   app.Mode
	values map[string]string
	file   string

	stripeSetup bool // see app.Sources
}

// settingFlags gives cmd a flag for each setting of the mode, or only for those
// named, and --config.
func settingFlags(cmd *cobra.Command, mode app.Mode, only ...string) *given {
	g := &given{mode: mode, values: map[string]string{}}
	for _, s := range app.Settings(mode) {
		if len(only) > 0 && !slices.Contains(only, s.Name) {
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
			cmd.Flags().Var(&settingFlag{g.values, s.Name + "-file", "file", ""}, s.Name+"-file", "File that holds the value of --"+s.Name)
		}
	}
	cmd.Flags().StringVar(&g.file, "config", "", "File with settings in TOML; their names are those of the flags")
	return g
}

// settingFlag puts the text of a flag where Load finds it; Load checks it.
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

// load reads the settings from all their sources. A mistake in them is a
// mistake in calling the command.
func (g *given) load() (app.Config, []app.Origin, error) {
	cfg, origins, err := app.Load(g.mode, app.Sources{Flags: g.values, Environ: os.Environ(), File: g.file, StripeSetup: g.stripeSetup})
	if err != nil {
		return cfg, origins, &failure{exitUsage, err}
	}
	return cfg, origins, nil
}
