package main

import (
	"testing"

	"github.com/spf13/cobra"

	"claviger/internal/app"
)

// TestEachSettingHasAFlag: each setting has a flag in the commands that serve, as documented.
func TestEachSettingHasAFlag(t *testing.T) {
	for mode, cmd := range map[app.Mode]*cobra.Command{app.Serve: serveCommand(), app.Dev: devCommand()} {
		for _, s := range app.Settings(mode) {
			flag := cmd.Flags().Lookup(s.Name)
			if flag == nil {
				t.Errorf("claviger %s has no --%s", cmd.Name(), s.Name)
			} else if flag.DefValue != s.Default {
				t.Errorf("claviger %s --%s is %q without it, want %q", cmd.Name(), s.Name, flag.DefValue, s.Default)
			}
		}
	}
}
