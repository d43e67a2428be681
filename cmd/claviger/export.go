package main

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

// exportLists are the exports available to operators and partners.
var exportLists = map[bool][]string{
	true:  {"licenses", "purchases", "orders", "events", "audit", "ledger", "revenue"}, // with an operator token
	false: {"licenses", "deliveries", "requests", "audit", "revenue"},                  // with the API key of a partner
}

func exportCommand() *cobra.Command {
	var output string
	var partnerID int64
	cmd := &cobra.Command{
		Use: "export <list>", Short: "Write a whole list of a running service as a file",
		Long: "Writes a whole list of the service at --url: licenses, purchases, orders, events, audit, ledger or " +
			"revenue with an operator token; licenses, deliveries, requests, audit or revenue with the API key of a " +
			"partner. " +
			"The last line of the file says that it is whole, and how many rows it has; the command fails when it " +
			"is missing.",
		Example: "claviger export licenses > licenses.csv\n" +
			"claviger export events --format ndjson --partner 3 --output events.ndjson",
		Args: exactly("list"),
	}
	r := remoteFlags(cmd)
	r.http = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	} // without a timeout
	format := wordFlag(cmd, "format", "Form of the file: csv without it", "csv", "ndjson")
	cmd.Flags().StringVar(&output, "output", "", "File to write, which must not be there; without it standard output")
	cmd.Flags().Int64Var(&partnerID, "partner", 0, "Only what is the partner's with this id; needs an operator token")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a, err := r.connect()
		if err != nil {
			return err
		}
		if lists := exportLists[a.operator != nil]; !slices.Contains(lists, args[0]) {
			return usage("there is no list %q; choose one of %s", args[0], strings.Join(lists, ", "))
		}
		filter := url.Values{}
		if partnerID != 0 {
			if a.operator == nil {
				return usage("--partner needs an operator token; an API key sees what is of one partner")
			}
			filter.Set("partner_id", strconv.FormatInt(partnerID, 10))
		}
		var file io.ReadCloser
		if a.operator != nil {
			file, err = a.operator.Export(cmd.Context(), args[0], operator.ExportFormat(cmp.Or(*format, "csv")), filter)
		} else {
			file, err = a.partner.Export(cmd.Context(), args[0], claviger.ExportFormat(cmp.Or(*format, "csv")), filter)
		}
		if err != nil {
			return answered(err)
		}
		defer file.Close() //nolint:errcheck // it was read
		return writeExport(cmd, file, output)
	}
	return cmd
}

// writeExport writes a file that only its owner can read.
func writeExport(cmd *cobra.Command, from io.Reader, output string) (err error) {
	to := cmd.OutOrStdout()
	if output != "" {
		f, err := os.OpenFile(
			output,
			os.O_WRONLY|os.O_CREATE|os.O_EXCL,
			0o600,
		) //nolint:gosec // the user names the file
		if err != nil {
			return usage("--output: %v", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		to = f
	}
	end := &tail{}
	if _, err := io.Copy(io.MultiWriter(to, end), from); err != nil {
		return &failure{exitUnreachable, err}
	}
	if line := end.line(); !bytes.HasPrefix(line, []byte("#complete,")) &&
		!bytes.HasPrefix(line, []byte(`{"export_complete":true`)) {
		return &failure{
			exitUnreachable,
			errors.New("the file is not whole: its last line does not say so; repeat the command"),
		}
	}
	return nil
}

// tail stores the end of the written data.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	const most = 4096
	t.text = append(t.text, p...)
	if n := len(t.text); n > most {
		t.text = append(t.text[:0], t.text[n-most:]...)
	}
	return len(p), nil
}

// line returns the last line.
func (t *tail) line() []byte {
	text := bytes.TrimRight(t.text, "\n")
	return text[bytes.LastIndexByte(text, '\n')+1:]
}
