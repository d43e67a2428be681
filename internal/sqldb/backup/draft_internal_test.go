package backup

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLeftBehind: a backup and a restore remove what killed ones have left, with the files beside it.
// They remove neither a file that is being written nor one of another program.
func TestLeftBehind(t *testing.T) {
	for name, run := range map[string]func(t *testing.T, dir string) error{
		"backup": func(t *testing.T, dir string) error {
			db := marked(t, filepath.Join(t.TempDir(), "other.db"), "other")
			return Write(t.Context(), db, filepath.Join(dir, "next.db"))
		},
		"restore": func(t *testing.T, dir string) error {
			r := restoring(dir)
			r.Path = filepath.Join(dir, "next.db")
			_, err := Restore(t.Context(), r)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := backedUp(t)
			whole, err := os.ReadFile(filepath.Join(dir, "backup.db")) //nolint:gosec // the path is ours
			if err != nil {
				t.Fatal(err)
			}
			living, err := newDraft(t.Context(), filepath.Join(dir, "living.db"), partKind)
			if err != nil {
				t.Fatal(err)
			}
			defer living.remove()
			zeros := make([]byte, 8192)
			files := map[string][]byte{
				"a.db.restore-1": whole, "a.db.restore-1-wal": zeros, "a.db.restore-1-shm": zeros, // of older versions
				"b.db.part-2": whole, "b.db.part-2-sole": nil,
				"c.db.part-3": zeros, "c.db.part-3-journal": zeros, "c.db.part-3-sole": nil,
				"d.db.part-4": nil, "e.db.part-5-sole": nil,
			}
			others := map[string][]byte{
				"film.part-1": []byte("a film that another program loads"), "film.part-2": zeros, "e.db.part-x": whole,
				"film.part-3-sole": []byte("a song that another program loads"),
			}
			for _, list := range []map[string][]byte{files, others} {
				for name, text := range list {
					if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			want := []string{"a.db.restore-1", "b.db.part-2", "c.db.part-3", "d.db.part-4", "e.db.part-5-sole"}
			found, err := LeftBehind(t.Context(), dir)
			for i, path := range found {
				found[i] = filepath.Base(path)
			}
			if diff := cmp.Diff(want, found); diff != "" || err != nil {
				t.Errorf("found: %v (-want +got)\n%s", err, diff)
			}
			if err := run(t, dir); err != nil {
				t.Fatal(err)
			}
			stay := []string{filepath.Base(living.path), filepath.Base(living.path) + lockEnd, "next.db"}
			for name := range others {
				stay = append(stay, name)
			}
			for name := range files {
				if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
					t.Errorf("%s is still there", name)
				}
			}
			for _, name := range stay {
				if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
					t.Errorf("%s is gone: %v", name, err)
				}
			}
		})
	}
}

// TestKilledDraft: a draft whose process has ended is left behind. Closing a lock is what the end of a
// process does.
func TestKilledDraft(t *testing.T) {
	d, err := newDraft(t.Context(), filepath.Join(t.TempDir(), "a.db"), partKind)
	if err != nil {
		t.Fatal(err)
	}
	left := func() []string {
		t.Helper()
		list, err := LeftBehind(t.Context(), filepath.Dir(d.path))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if list := left(); len(list) > 0 {
		t.Errorf("left behind while it is written: %v", list)
	}
	if err := d.lock.Close(); err != nil {
		t.Fatal(err)
	}
	if list := left(); !slices.Equal(list, []string{d.path}) {
		t.Errorf("left behind: %v", list)
	}
}

// TestDraftsBesideARemoval: while other processes remove what was left behind, each new draft has its lock.
func TestDraftsBesideARemoval(t *testing.T) {
	dir := t.TempDir()
	ended := make(chan struct{})
	var removing sync.WaitGroup
	for range 4 {
		removing.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					removeLeft(t.Context(), dir)
				}
			}
		})
	}
	for range 100 {
		d, err := newDraft(t.Context(), filepath.Join(dir, "a.db"), partKind)
		if err != nil {
			t.Error(err)
			break
		}
		for _, path := range []string{d.path, d.path + lockEnd} {
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("a living draft was removed: %v", err)
			}
		}
		d.remove()
	}
	close(ended)
	removing.Wait()
}
