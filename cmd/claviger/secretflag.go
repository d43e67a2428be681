package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Annotations of a flag with a secret. The value names the alternative, for the warning.
const (
	secretAnnotation = "secret"
	urlAnnotation    = "secret in URL" // a URL, which is a secret if it has a password
)

// secretVar adds a flag for a secret and one for a file with it. readSecrets sets the first from
// the second before the command runs.
func secretVar(cmd *cobra.Command, to *string, name, variable, help string) {
	cmd.Flags().StringVar(to, name, "", help+"; else "+variable)
	fileFlag(cmd.Flags(), name)
	markSecret(cmd.Flags(), name, secretAnnotation, variable)
}

// secretURLVar is secretVar for a URL that may have a password, without a variable.
func secretURLVar(cmd *cobra.Command, to *string, name, help string) {
	cmd.Flags().StringVar(to, name, "", help)
	fileFlag(cmd.Flags(), name)
	markSecret(cmd.Flags(), name, urlAnnotation, "")
}

// fileFlag adds the flag of a file with the value of another flag.
func fileFlag(flags *pflag.FlagSet, name string) {
	flags.String(name+"-file", "", "File that holds the value of --"+name+"; - is standard input")
}

// markSecret marks a flag as secret. variable, if not empty, can set it, too.
func markSecret(flags *pflag.FlagSet, name, annotation, variable string) {
	flags.Lookup(name).Annotations = map[string][]string{annotation: {variable}}
}

// readSecrets sets the flags of secrets from their files and from standard input. It warns about
// secrets on the command line, which other users see in the process list. app.Load reads the files
// of settings.
func readSecrets(cmd *cobra.Command, _ []string) error {
	var err error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if err != nil {
			return
		}
		variable, secret := f.Annotations[secretAnnotation]
		hidden := secret
		if !secret {
			variable, secret = f.Annotations[urlAnnotation]
		}
		if secret {
			err = readSecret(cmd, f, cmd.Flags().Lookup(f.Name+"-file"), variable[0], hidden)
		}
	})
	return err
}

// readSecret reads the secret of one flag. hidden means that every value of it is a secret.
func readSecret(cmd *cobra.Command, f, file *pflag.Flag, variable string, hidden bool) error {
	given := flagText(f)
	from := flagText(file)
	switch {
	case f.Changed && file.Changed:
		return usage("--%s and --%s are both set; set one of them", f.Name, file.Name)
	case f.Changed && given != "" && (hidden || hasPassword(given)):
		instead := "--" + file.Name
		if variable != "" {
			instead += " or " + variable
		}
		_, _ = fmt.Fprintf(
			cmd.ErrOrStderr(),
			"claviger: warning: other users of this machine can see --%s; use %s\n",
			f.Name,
			instead,
		)
		return nil
	case !file.Changed:
		return nil
	}
	if _, setting := file.Value.(*settingFlag); setting && from != "-" {
		return nil
	}
	value, err := secretIn(cmd, file.Name, from)
	if err != nil {
		return err
	}
	if err := file.Value.Set(""); err != nil {
		return usage("--%s: %w", file.Name, err)
	}
	if err := f.Value.Set(value); err != nil {
		return usage("--%s: %w", file.Name, err)
	}
	return nil
}

// secretIn reads the file that a flag names, or standard input, without the line's end.
func secretIn(cmd *cobra.Command, flag, name string) (string, error) {
	text, err := readShort(cmd.InOrStdin(), "--"+flag, name)
	if err != nil {
		return "", err
	}
	if name == "-" {
		name = "standard input"
		cmd.SetIn(usedInput(flag))
	}
	value := strings.TrimRight(string(text), "\r\n")
	switch {
	case value == "":
		return "", usage("--%s: %s is empty", flag, name)
	case strings.ContainsAny(value, "\r\n\x00"):
		return "", usage("--%s: %s does not hold one line of text", flag, name)
	}
	return value, nil
}

// usedInput replaces standard input after a flag was read from it.
type usedInput string

func (u usedInput) Read([]byte) (int, error) {
	return 0, usage("standard input has the value of --%s; only one can come from there", string(u))
}

// flagText returns the flag's value on the command line.
func flagText(f *pflag.Flag) string {
	if s, ok := f.Value.(*settingFlag); ok {
		return s.values[s.name]
	}
	return f.Value.String()
}

// hasPassword reports whether the text is a URL with a password.
func hasPassword(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	_, set := u.User.Password()
	return set || u.Query().Has("password")
}
