package app

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"claviger/internal/validate"
)

// prefix is the prefix of our environment variables.
const prefix = "CLAVIGER_"

// foreign are variables with our prefix that are not settings: the configuration file's name, and
// those of client commands and tests.
var foreign = []string{
	prefix + "CONFIG", prefix + "URL", prefix + "API_KEY", prefix + "OPERATOR_TOKEN", prefix + "WEBHOOK_SECRET",
	prefix + "CLIENT_SECRET", prefix + "TEST_POSTGRES", prefix + "PG_DURABLE",
	prefix + "CHAOS_ROUNDS", prefix + "SCREENSHOTS",
}

// Sources are the sources of settings. The first one that has a setting wins: flags, environment,
// file, default. An empty value counts as missing.
type Sources struct {
	Flags   map[string]string // by the setting's name, or name-file for a secret
	Environ []string          // as os.Environ gives it
	File    string            // path of a TOML file; "" is CLAVIGER_CONFIG, or none

	// Credentials are files of secret settings, which count less than all others; see Credentials.
	Credentials map[string]string

	// StripeSetup means that the webhook secret is about to be created and may be missing.
	StripeSetup bool
}

// Origin is the current value of a setting in printable form, and its source.
type Origin struct {
	Name, Shown, From string
}

// layer is a parsed source: values by name, and their description in messages.
type layer struct {
	values map[string]string
	named  func(string) string
}

// Load reads the configuration of a mode. Its error names every mistake, not only the first. The
// origins are returned as far as they are known.
func Load(mode Mode, src Sources) (Config, []Origin, error) {
	table := Settings(mode)
	environment, environErr := fromEnviron(src.Environ)
	if src.File == "" {
		src.File = lookup(src.Environ, prefix+"CONFIG")
	}
	file, fileErr := fromFile(src.File)
	flags := layer{src.Flags, func(name string) string { return "--" + name }}

	var cfg Config
	var origins []Origin
	mistakes := []error{environErr, fileErr}
	credentials := cfg.withhold(src.Credentials)
	for _, s := range table {
		f, err := s.find([]layer{flags, environment, file, credentials})
		if err == nil {
			if err = s.set(&cfg, f.value); err != nil {
				err = fmt.Errorf("%s %w", f.from, err)
			}
		}
		if f.from != "default" {
			delete(cfg.Withheld, s.Name) // another source has it
		}
		cfg.noteFile(s.Name, f.file)
		mistakes = append(mistakes, err)
		origins = append(origins, Origin{Name: s.Name, Shown: s.Show(f.value), From: f.from})
	}
	mistakes = append(mistakes, cfg.Mail.Valid())
	if !src.StripeSetup {
		mistakes = append(mistakes, cfg.validStripe())
	}
	mistakes = append(mistakes, cfg.validBackups(origins))
	if mode != Dev && cfg.LogFormat == Short {
		mistakes = append(mistakes, errors.New("log-format short is for claviger dev; use json or text"))
	}
	cfg.Origins = origins
	return cfg, origins, errors.Join(mistakes...)
}

// noteFile records that a setting was read from its own file.
func (c *Config) noteFile(setting, path string) {
	if path == "" {
		return
	}
	if c.SecretFiles == nil {
		c.SecretFiles = map[string]string{}
	}
	c.SecretFiles[setting] = path
}

// Defaults returns the default configuration of a mode.
func Defaults(mode Mode) Config {
	cfg, _, err := Load(mode, Sources{})
	if err != nil {
		panic("the default settings are wrong: " + err.Error())
	}
	return cfg
}

// found is the value of a setting and its source; file is set if it was read from its own file.
type found struct{ value, from, file string }

// find returns the value from the first layer that has it.
func (s Setting) find(layers []layer) (found, error) {
	for _, l := range layers {
		value := l.values[s.Name]
		path := ""
		if s.Secret {
			path = l.values[s.Name+"-file"]
		}
		switch {
		case value != "" && path != "":
			of := l.named(s.Name)
			return found{from: of}, fmt.Errorf("%s and %s are both set; set one of them", of, l.named(s.Name+"-file"))
		case value != "":
			return found{value: value, from: l.named(s.Name)}, nil
		case path != "":
			value, err := readSecret(path)
			if err != nil {
				err = fmt.Errorf("%s: %w", l.named(s.Name+"-file"), err)
			}
			return found{value, l.named(s.Name + "-file"), path}, err
		}
	}
	return found{value: s.Default, from: "default"}, nil
}

// readSecret reads a value from its own file. Secrets are short text; any other file was named by
// mistake.
func readSecret(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if len(raw) > 4096 || bytes.IndexByte(raw, 0) >= 0 {
		return "", fmt.Errorf("%s does not hold a line of text (to use a SQLite file, set db itself)", path)
	}
	value := strings.TrimSpace(string(raw))
	if value == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return value, nil
}

// names returns the names of settings in files and flags, for both modes: both commands may share
// an environment or a file.
func names() []string {
	var all []string
	for _, s := range settings {
		all = append(all, s.Name)
		if s.Secret {
			all = append(all, s.Name+"-file")
		}
	}
	return all
}

// variable returns the environment variable of a setting.
func variable(name string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// fromEnviron reads our variables and refuses unknown ones.
func fromEnviron(environ []string) (layer, error) {
	known := map[string]string{}
	for _, name := range names() {
		known[variable(name)] = name
	}
	l := layer{map[string]string{}, variable}
	var mistakes []error
	for _, line := range environ {
		key, value, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(key, prefix) || slices.Contains(foreign, key) || linked(key) {
			continue
		}
		if name, ok := known[key]; ok {
			l.values[name] = value
		} else {
			mistakes = append(mistakes, fmt.Errorf("unknown variable %s%s", key, suggest(key, variable)))
		}
	}
	return l, errors.Join(mistakes...)
}

// linked reports whether Kubernetes made the variable for a service named claviger, as it does in
// every pod of the namespace.
func linked(key string) bool {
	return strings.HasPrefix(key, prefix+"SERVICE_") || key == prefix+"PORT" || strings.HasPrefix(key, prefix+"PORT_")
}

// lookup returns the value of a variable, or "".
func lookup(environ []string, key string) string {
	for _, line := range environ {
		if name, value, _ := strings.Cut(line, "="); name == key {
			return value
		}
	}
	return ""
}

// fromFile reads a TOML file of settings; an empty path is an empty file.
func fromFile(path string) (layer, error) {
	base := filepath.Base(path)
	l := layer{map[string]string{}, func(name string) string { return name + " in " + base }}
	if path == "" {
		return l, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return l, fmt.Errorf("read the configuration: %w", err)
	}
	var entries map[string]any
	if err := toml.Unmarshal(raw, &entries); err != nil {
		if syntax, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column := syntax.Position()
			return l, fmt.Errorf("%s line %d, column %d: %w", path, line, column, err)
		}
		return l, fmt.Errorf("%s: %w", path, err)
	}
	var mistakes []error
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if !slices.Contains(names(), key) {
			mistakes = append(
				mistakes,
				fmt.Errorf("unknown setting %s in %s%s", key, base, suggest(key, strings.ToLower)),
			)
			continue
		}
		value, err := plain(entries[key])
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s in %s %w", key, base, err))
			continue
		}
		l.values[key] = value
	}
	return l, errors.Join(mistakes...)
}

// plain formats a TOML value as on a command line.
func plain(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case bool:
		return strconv.FormatBool(v), nil
	case []any:
		var parts []string
		for _, e := range v {
			s, ok := e.(string)
			if !ok {
				return "", errors.New("must be a list of strings")
			}
			parts = append(parts, s)
		}
		return strings.Join(parts, ","), nil
	default:
		return "", errors.New("must be a string, a whole number, true or false, or a list of strings")
	}
}

// suggest names the nearest setting, if any, in the form of its source.
func suggest(wrong string, form func(string) string) string {
	near := validate.Nearest(strings.TrimPrefix(wrong, prefix), names())
	if near == "" {
		return "; claviger config check lists what can be set"
	}
	return "; did you mean " + form(near) + "?"
}
