package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"claviger/sdk/go/operator"
)

// Limits of a part of a file, which is one request.
const (
	importPart  = 5000 // lines
	importBytes = 8 << 20
)

func importCommand() *cobra.Command {
	var dryRun, webhooks bool
	cmd := &cobra.Command{
		Use: "import <file>", Short: "Bring licenses in that were sold elsewhere",
		Long: "Sends a file of licenses to the service at --url, in parts, and lists the lines that were refused, " +
			"with what to do. " +
			"The file is a table (CSV) whose first row names the columns license_key, partner_id, tier, status, " +
			"email and sold_at, or has a JSON object with these members on each line. " +
			"To repeat it, after a mistake was corrected or it was interrupted, changes nothing that is there. " +
			"No one is mailed, and partners get webhooks only with --webhooks.\n\n" +
			"Ends with 0 when all lines were taken, and with 1 when some were refused. It needs an operator token " +
			"with the scope admin.",
		Example: "claviger import licenses.csv --dry-run\n" +
			"claviger import licenses.csv\n" +
			"claviger import licenses.ndjson --webhooks --json",
		Args: exactly("file"),
	}
	r := remoteFlags(cmd)
	format := wordFlag(cmd, "format", "Form of the file; else by its name", "csv", "ndjson")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "Say what would be refused, and store nothing")
	cmd.Flags().BoolVar(&webhooks, "webhooks", false, "Deliver the event of each license to its partner")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		kind, err := importFormat(*format, args[0])
		if err != nil {
			return err
		}
		a, err := r.connect()
		if err != nil {
			return err
		}
		if a.operator == nil {
			return usage(
				"import needs an operator token with the scope admin; give it with --token-file or %s",
				tokenVariable,
			)
		}
		file, err := os.Open(args[0])
		if err != nil {
			return usage("%v", err)
		}
		defer file.Close() //nolint:errcheck // it is only read
		i := &importing{
			client:  a.operator,
			format:  kind,
			options: operator.ImportOptions{DryRun: dryRun, Webhooks: webhooks},
			shown:   newProgress(cmd.ErrOrStderr(), "lines"),
		}
		i.report.DryRun = dryRun
		i.report.Problems = []operator.ImportProblem{}
		err = i.run(cmd.Context(), file)
		i.shown.end()
		return errors.Join(i.tell(cmd, r.asJSON), err)
	}
	return cmd
}

// importFormat returns the format of the flag, or of the file's extension.
func importFormat(flag, file string) (operator.ImportFormat, error) {
	switch {
	case flag == "csv", flag == "" && strings.EqualFold(filepath.Ext(file), ".csv"):
		return operator.ImportCSV, nil
	case flag == "ndjson",
		flag == "" && (strings.EqualFold(filepath.Ext(file), ".ndjson") || strings.EqualFold(filepath.Ext(file),
			".jsonl")):
		return operator.ImportNDJSON, nil
	}
	return "", usage("is %s a table or lines of JSON? Say it with --format csv or --format ndjson", file)
}

// importing is a file in transfer.
type importing struct {
	client  *operator.Client
	format  operator.ImportFormat
	options operator.ImportOptions
	shown   *progress
	report  operator.ImportReport

	head    []byte // the first row of a table
	part    bytes.Buffer
	numbers []int // in the file, of the part's lines
}

// run sends the file in parts.
func (i *importing) run(ctx context.Context, file io.Reader) error {
	var err error
	if i.format == operator.ImportCSV {
		err = i.table(ctx, file)
	} else {
		err = i.lines(ctx, file)
	}
	if err != nil {
		return err
	}
	return i.send(ctx)
}

// table reads rows and writes each on one line.
func (i *importing) table(ctx context.Context, file io.Reader) error {
	rows := csv.NewReader(file)
	rows.FieldsPerRecord = -1
	rows.ReuseRecord = true
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the table: %w; lines before it were taken", err)
		}
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		if err = w.Write(row); err == nil {
			w.Flush()
			err = w.Error()
		}
		if err != nil {
			return err
		}
		if i.head == nil {
			i.head = b.Bytes()
			continue
		}
		number, _ := rows.FieldPos(0)
		if err := i.add(ctx, number, b.Bytes()); err != nil {
			return err
		}
	}
}

// lines reads a file with an object on each line.
func (i *importing) lines(ctx context.Context, file io.Reader) error {
	const longest = 1 << 20
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, longest)
	for number := 1; lines.Scan(); number++ {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			if err := i.add(ctx, number, append(bytes.Clone(line), '\n')); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	return nil
}

// add puts a line into the part, and sends the part when it is full.
func (i *importing) add(ctx context.Context, number int, line []byte) error {
	if len(i.numbers) == importPart || i.part.Len()+len(line) > importBytes {
		if err := i.send(ctx); err != nil {
			return err
		}
	}
	if len(i.numbers) == 0 {
		i.part.Write(i.head)
	}
	i.part.Write(line)
	i.numbers = append(i.numbers, number)
	return nil
}

// send sends the part and adds up the results. Lines are reported by their position in the file.
func (i *importing) send(ctx context.Context) error {
	if len(i.numbers) == 0 {
		return nil
	}
	done, err := i.client.ImportLicenses(ctx, i.format, i.part.Bytes(), i.options)
	if err != nil {
		return answered(err)
	}
	before := 1 // lines are counted from 1, including the head
	if i.head != nil {
		before = 2
	}
	for _, p := range done.Problems {
		if n := p.Line - before; n >= 0 && n < len(i.numbers) {
			p.Line = i.numbers[n]
		}
		i.report.Problems = append(i.report.Problems, p)
	}
	i.report.Lines += done.Lines
	i.report.Created += done.Created
	i.report.Unchanged += done.Unchanged
	i.report.Refused += done.Refused
	i.shown.show(int64(i.report.Lines), 0)
	i.part.Reset()
	i.numbers = i.numbers[:0]
	return nil
}

// tell lists the refused lines and counts the others.
func (i *importing) tell(cmd *cobra.Command, asJSON bool) error {
	a := answer{json: i.report}
	var rows [][]string
	for _, p := range i.report.Problems {
		rows = append(rows, []string{strconv.Itoa(p.Line), p.LicenseKey, p.Error, p.Field, p.Message})
	}
	if len(rows) > 0 {
		a.out = table([]string{"line", "license_key", "error", "field", "message"}, rows)
	}
	if err := a.print(cmd, asJSON); err != nil {
		return err
	}
	verb := "brought in"
	if i.options.DryRun {
		verb = "would be brought in"
	}
	text := fmt.Sprintf(
		"%d lines: %d licenses %s, %d were there before, %d refused",
		i.report.Lines,
		i.report.Created,
		verb,
		i.report.Unchanged,
		i.report.Refused,
	)
	if i.report.Refused > 0 {
		return &failure{exitRefused, errors.New(text + "; correct those lines and repeat the command")}
	}
	_, err := fmt.Fprintln(cmd.ErrOrStderr(), text)
	return err
}
