package app

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"claviger/internal/release"
)

// Build describes the build of this program.
type Build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Date     string `json:"date"` // of the commit
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ThisBuild returns the version of this program, and the build information of the Go tool.
func ThisBuild() Build {
	b := Build{Version: release.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns the build in one line.
func (b Build) String() string {
	s := "claviger " + b.Version
	if b.Commit != "" {
		s += fmt.Sprintf(" (commit %.12s of %s", b.Commit, b.Date)
		if b.Modified {
			s += ", modified"
		}
		s += ")"
	}
	return s + ", " + b.Go + ", " + b.Platform
}
