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

// prefix begins the name of every variable that is ours.
const prefix = "CLAVIGER_"

// foreign are variables with our prefix that are not settings: the
// configuration file's own name, those of the client commands and of the tests.
var foreign = []string{
	prefix + "CONFIG", prefix + "URL", prefix + "API_KEY", prefix + "OPERATOR_TOKEN", prefix + "WEBHOOK_SECRET", prefix + "CLIENT_SECRET", prefix + "TEST_POSTGRES", prefix + "PG_DURABLE",
	prefix + "CHAOS_ROUNDS", prefix + "SCREENSHOTS",
}

// Sources is where settings come from; the first one that has a setting wins:
// flags, environment, file, default. An empty value counts as not given.
type Sources struct {
	Flags   map[string]string // by the setting's name, or name-file for a secret
	Environ []string          // as os.Environ gives it
	File    string            // path of a TOML file; "" is CLAVIGER_CONFIG, or none

	// StripeSetup says that the webhook secret is about to be made, and may be missing.
	StripeSetup bool
}

// Origin is one setting as it is in force: what it is, in a form that may be
// printed, and where it came from.
type Origin struct {
	Name, Shown, From string
}

// layer is one source, read: values by name, and how to speak of one.
type layer struct {
	values map[string]string
	named  func(string) string
}

// Load reads the configuration of a mode. Its error names every mistake, not
// only the first; the origins are there as far as they are known.
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
	for _, s := range table {
		f, err := s.find([]layer{flags, environment, file})
		if err == nil {
			if err = s.set(&cfg, f.value); err != nil {
				err = fmt.Errorf("%s %w", f.from, err)
			}
		}
		cfg.noteFile(s.Name, f.file)
		mistakes = append(mistakes, err)
		origins = append(origins, Origin{Name: s.Name, Shown: s.Show(f.value), From: f.from})
	}
	mistakes = append(mistakes, cfg.Mail.Valid())
	if !src.StripeSetup {
		mistakes = append(mistakes, cfg.validStripe())
	}
	if mode != Dev && cfg.LogFormat == Short {
		mistakes = append(mistakes, errors.New("log-format short is for claviger dev; use json or text"))
	}
	cfg.Origins = origins
	return cfg, origins, errors.Join(mistakes...)
}

// noteFile notes that a setting was read from a file of its own.
func (c *Config) noteFile(setting, path string) {
	if path == "" {
		return
	}
	if c.SecretFiles == nil {
		c.SecretFiles = map[string]string{}
	}
	c.SecretFiles[setting] = path
}

// Defaults is the configuration of a mode when nothing is set.
func Defaults(mode Mode) Config {
	cfg, _, err := Load(mode, Sources{})
	if err != nil {
		panic("the default settings are wrong: " + err.Error())
	}
	return cfg
}

// found is the value of a setting and where it came from; file is the one that held
// it, if it has one of its own.
type found struct{ value, from, file string }

// find takes the value from the first layer that has it.
func (s Setting) find(layers []layer) (found, error) {
	for _, l := range layers {
		value, path := l.values[s.Name], ""
		if s.Secret {
			path = l.values[s.Name+"-file"]
		}
		switch {
		case value != "" && path != "":
			return found{from: l.named(s.Name)}, fmt.Errorf("%s and %s are both set; set one of them", l.named(s.Name), l.named(s.Name+"-file"))
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

// readSecret reads a value kept in a file of its own. Nobody's secret is long
// or binary, so such a file was named by mistake.
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

// names are the names under which a file or a flag can give a setting, of
// either mode: an environment or a file shared by both commands is no mistake.
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

// variable is the name of a setting in the environment.
func variable(name string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// fromEnviron picks our variables and refuses those that set nothing.
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

// linked reports whether Kubernetes made the variable for a service named
// claviger; it does so unasked, in every pod of the namespace.
func linked(key string) bool {
	return strings.HasPrefix(key, prefix+"SERVICE_") || key == prefix+"PORT" || strings.HasPrefix(key, prefix+"PORT_")
}

// lookup is the value of a variable, or "".
func lookup(environ []string, key string) string {
	for _, line := range environ {
		if name, value, _ := strings.Cut(line, "="); name == key {
			return value
		}
	}
	return ""
}

// fromFile reads a TOML file of settings; no path is an empty one.
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
			mistakes = append(mistakes, fmt.Errorf("unknown setting %s in %s%s", key, base, suggest(key, strings.ToLower)))
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

// plain is a TOML value as it would be written on a command line.
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

// suggest names the setting that was probably meant, if one is near, in the
// form of its source.
func suggest(wrong string, form func(string) string) string {
	near := validate.Nearest(strings.TrimPrefix(wrong, prefix), names())
	if near == "" {
		return "; claviger config check lists what can be set"
	}
	return "; did you mean " + form(near) + "?"
}
