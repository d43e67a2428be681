package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// files requests a new password for the buyer. Then it searches, like another user of the machine,
// for world-readable files with a reset link.
func files(ctx context.Context, l *lab) error {
	if l.db != "" {
		return nil // its files are the database server's
	}
	t, err := l.start(ctx)
	if err != nil {
		return err
	}
	defer t.stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.card.BaseURL+"/reset",
		strings.NewReader(url.Values{"email": {t.card.Buyer.Email}}.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	pause(ctx, 2*time.Second) // the email is sent
	open, links, err := readable(t.folder)
	if err != nil {
		return err
	}
	l.add("files that everybody can read", "none", "%d %s", len(open), strings.Join(open, " "))
	l.add("mailed links in them", "none", "%d", links)
	return nil
}

// readable lists the files of a folder that others can read, and counts the emailed links in them.
func readable(folder string) (names []string, links int, err error) {
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil || info.Mode().Perm()&0o077 == 0 {
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // a file of the program under attack
		if err != nil {
			return err
		}
		names = append(names, fmt.Sprintf("%s (%04o)", filepath.Base(path), info.Mode().Perm()))
		links += bytes.Count(text, []byte("/sign-in/link?token="))
		return nil
	})
	return names, links, err
}
