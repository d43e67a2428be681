// Command sbom describes the programs of a release. It reads the build information of each program
// in a folder, and writes two files beside them: claviger.cdx.json, a bill of materials in
// CycloneDX, and SHA256SUMS. The same programs give the same bytes.
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

const (
	bomFile  = "claviger.cdx.json"
	sumsFile = "SHA256SUMS"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sbom FOLDER")
		os.Exit(2)
	}
	if err := describe(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// describe writes both files; the sums include the bill.
func describe(dir string) error {
	programs, err := filepath.Glob(filepath.Join(dir, "claviger-*"))
	if err != nil {
		return err
	}
	if len(programs) == 0 {
		return fmt.Errorf("%s has no programs; run make release", dir)
	}
	bom, err := billOf(programs)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(bom, "", "  ")
	if err != nil {
		return err
	}
	bill := filepath.Join(dir, bomFile)
	if err := os.WriteFile(bill, append(text, '\n'), 0o644); err != nil {
		return err
	}
	var sums strings.Builder
	for _, path := range append(programs, bill) {
		sum, err := hash(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, filepath.Base(path))
	}
	return os.WriteFile(filepath.Join(dir, sumsFile), []byte(sums.String()), 0o644)
}

// bill is a bill of materials, limited to the used parts of CycloneDX 1.5.
type bill struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"` // of the commit
	Component component `json:"component"`
}

type component struct {
	Type     string      `json:"type"`
	Ref      string      `json:"bom-ref"`
	Name     string      `json:"name"`
	Version  string      `json:"version"`
	PURL     string      `json:"purl,omitempty"`
	Licenses []licensing `json:"licenses,omitempty"`
	Parts    []component `json:"components,omitempty"` // the files of the release
	Hashes   []digest    `json:"hashes,omitempty"`
}

type licensing struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

type digest struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// billOf lists the modules of all programs together: some are needed only on one system.
func billOf(programs []string) (bill, error) {
	b := bill{Format: "CycloneDX", Spec: "1.5", Version: 1}
	b.Metadata.Component = component{Type: "application", Ref: "claviger", Name: "claviger", Licenses: make([]licensing, 1)}
	b.Metadata.Component.Licenses[0].License.ID = "Apache-2.0"
	modules := make(map[string]component)
	whole := sha256.New()
	for _, path := range programs {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return b, err
		}
		version := cmp.Or(info.Main.Version, "(devel)")
		if b.Metadata.Component.Version != "" && b.Metadata.Component.Version != version {
			return b, errors.New("the programs are of two versions; run make release again")
		}
		b.Metadata.Component.Version, b.Metadata.Timestamp = version, setting(info, "vcs.time")
		for _, m := range append(info.Deps, &debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}) {
			if m.Replace != nil {
				m = m.Replace
			}
			c := library(m)
			modules[c.Ref] = c
		}
		sum, err := hash(path)
		if err != nil {
			return b, err
		}
		fmt.Fprintln(whole, sum)
		name := filepath.Base(path)
		b.Metadata.Component.Parts = append(b.Metadata.Component.Parts,
			component{Type: "file", Ref: name, Name: name, Version: version, Hashes: []digest{{"SHA-256", sum}}})
	}
	for _, c := range modules {
		b.Components = append(b.Components, c)
	}
	slices.SortFunc(b.Components, func(x, y component) int { return cmp.Compare(x.Ref, y.Ref) })
	depends := dependency{Ref: "claviger"}
	for _, c := range b.Components {
		depends.DependsOn = append(depends.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{depends}
	b.Serial = serial(whole.Sum(nil))
	return b, nil
}

// library returns a module as a component.
func library(m *debug.Module) component {
	purl := "pkg:golang/" + strings.ToLower(m.Path) + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
	return component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
}

// setting returns a build setting.
func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// serial returns a UUID made of a hash (version 8), so that the same programs have the same one.
func serial(sum []byte) string {
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// hash returns the SHA-256 of a file, in hex.
func hash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
