package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"claviger/internal/courier"
	"claviger/internal/diagnose/verify"
	"claviger/internal/secret"
)

// verifyLine is a finding in the output of --json.
type verifyLine struct {
	Part  string `json:"part"`
	State string `json:"state"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"`
}

func verifyCommand() *cobra.Command {
	var given, headers, body, brand, computed, at string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "verify", Short: "Say whether a webhook that you received is signed rightly, and if not, what is wrong",
		Long: "Verifies a webhook from two files: its headers, one Name: value per line, and its body, byte for " +
			"byte. It sends nothing: the secret stays on this machine. " +
			"If it does not verify, it says whether that is for the headers, the bytes of the body, the secret or " +
			"the clock; with --computed, also what your own code signed instead. " +
			"A file called - is standard input.\n\n" +
			"Exit codes: 0 it verifies, 4 it does not, 2 the command was called wrongly.",
		Example: "claviger verify --secret-file secret.txt --headers headers.txt --body body.json",
		Args:    exactly(),
	}
	secretFlag(cmd, &given)
	cmd.Flags().StringVar(&headers, "headers", "", "File with the headers of the request")
	cmd.Flags().StringVar(&body, "body", "", "File with the body of the request")
	cmd.Flags().StringVar(&brand, "brand", "", "Brand in the names of the headers; without it, the one that they have")
	cmd.Flags().StringVar(&computed, "computed", "", "The signature that your own code computed, to find its mistake")
	cmd.Flags().StringVar(&at, "received-at", "", "When it was received, to compare the clocks")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print one JSON object")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		given = cmp.Or(given, os.Getenv(secretVariable))
		if given == "" || headers == "" || body == "" {
			return usage("verify needs --secret-file (or %s), --headers and --body", secretVariable)
		}
		if headers == "-" && body == "-" {
			return usage("--headers and --body cannot both be standard input")
		}
		head, err := readShort(cmd.InOrStdin(), "--headers", headers)
		if err != nil {
			return err
		}
		r := verify.Received{Header: verify.ParseHeaders(string(head)), Computed: strings.TrimSpace(computed)}
		if r.Body, err = readShort(cmd.InOrStdin(), "--body", body); err != nil {
			return err
		}
		if at != "" {
			var ok bool
			if r.At, ok = verify.ParseMoment(at); !ok {
				return usage(
					"--received-at %q is not a time such as 2026-11-15T09:30:00Z, or a number of seconds or "+
						"milliseconds",
					at,
				)
			}
		}
		signer := courier.Signer{Brand: cmp.Or(brand, brandIn(r.Header))}
		return printVerification(
			cmd, asJSON, signer, doubtSecret(verify.Webhook(signer, r, courier.NewSecrets(given)), given),
		)
	}
	return cmd
}

// readShort reads a file that a flag names, or standard input. It refuses anything longer than a
// webhook can be.
func readShort(stdin io.Reader, flag, name string) ([]byte, error) {
	from := stdin
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // named by the caller
		if err != nil {
			return nil, usage("%s: %w", flag, err)
		}
		defer f.Close() //nolint:errcheck // It was only read.
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, verify.MaxPasted+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > verify.MaxPasted {
		return nil, usage("%s %s has more than %d bytes; webhooks are much shorter", flag, name, verify.MaxPasted)
	}
	return text, nil
}

// brandIn returns the brand in the name of a signature header, or "".
func brandIn(h http.Header) string {
	for name := range h {
		if brand, ok := strings.CutPrefix(name, "X-"); ok {
			if brand, ok = strings.CutSuffix(brand, "-Signature"); ok {
				return brand
			}
		}
	}
	return ""
}

// doubtSecret adds to a verification what may be wrong with a secret that matched nothing.
func doubtSecret(v verify.Result, given string) verify.Result {
	for i, f := range v.Findings {
		if f.Part != verify.PartSecret || f.State != verify.Unclear {
			continue
		}
		v.Findings[i].Text = "--secret did not sign these bytes"
		v.Findings[i].Do = "Give the webhook secret as it was shown, whsec_ included."
		if other := secret.Mistaken(given, secret.WebhookSecret); other != "" {
			v.Findings[i].State = verify.Wrong
			v.Findings[i].Do = other
		}
	}
	return v
}

// printVerification writes a line per part of a webhook.
func printVerification(cmd *cobra.Command, asJSON bool, s courier.Signer, v verify.Result) error {
	lines := []verifyLine{}
	rows := [][]string{}
	wrong := !v.Genuine
	for _, f := range v.Findings {
		wrong = wrong || f.State == verify.Wrong
		lines = append(lines, verifyLine{string(f.Part), string(f.State), f.Text, f.Do})
		rows = append(rows, []string{colored(string(f.State), 0), string(f.Part), oneLine(f.Text), oneLine(f.Do)})
	}
	signed := map[string]string{}
	for _, t := range v.Texts(s) {
		signed[t.Header] = t.Text
	}
	err := answer{
		json: struct {
			Verifies bool              `json:"verifies"`
			Genuine  bool              `json:"genuine"`
			Findings []verifyLine      `json:"findings"`
			Signed   map[string]string `json:"signed"`
		}{!wrong, v.Genuine, lines, signed},
		out: table([]string{"state", "part", "what was found", "what to do"}, rows),
	}.print(cmd, asJSON)
	switch {
	case err != nil:
		return err
	case wrong:
		return &failure{exitCheck, errors.New("the webhook does not verify")}
	}
	return nil
}
