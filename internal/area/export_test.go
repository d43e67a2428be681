package area_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"claviger/internal/account"
	"claviger/internal/area"
	"claviger/internal/audit"
	"claviger/internal/export"
)

// TestExportOfARemovedPerson: a person who loses the role during an export gets no further batch,
// and a file that is visibly cut off.
func TestExportOfARemovedPerson(t *testing.T) {
	h := start(t)
	second, goOn, batches := make(chan struct{}), make(chan struct{}), 0
	h.exports.Lists = []area.ExportList{{Kind: export.Licenses, Read: func(*http.Request, area.Visit) (area.ExportQuery, error) {
		return area.ExportQuery{Table: export.Table{
			Kind: export.Licenses, Columns: []string{"batch"}, About: func(context.Context) (export.Estimate, error) { return export.Unknown, nil },
			Next: func(context.Context) ([][]export.Cell, bool, error) {
				if batches++; batches == 2 {
					close(second)
					<-goOn
				}
				return [][]export.Cell{{export.Number(batches)}}, batches < 5, nil
			},
		}}, nil
	}}}
	answer := h.do(http.MethodPost, "/area/exports")
	defer func() { _ = answer.Body.Close() }()
	body := bufio.NewReader(answer.Body)
	for _, want := range []string{"batch\n", "1\n"} {
		if line, err := body.ReadString('\n'); line != want || err != nil {
			t.Fatalf("%q, %v", line, err)
		}
	}
	<-second
	h.setRole(h.user.ID, account.RoleViewer)
	close(goOn) // only the batch that was being read
	rest, err := io.ReadAll(body)
	if string(rest) != "2\n" || err == nil {
		t.Errorf("after the role was lost: %q, %v", rest, err)
	}
	list, err := h.exports.Exporter.Of(t.Context(), audit.Actor{Kind: audit.ByUser, ID: h.user.ID}, 1)
	if err != nil || len(list) != 1 || list[0].State != export.Ended {
		t.Errorf("%+v, %v", list, err)
	}
	if again := h.do(http.MethodPost, "/area/exports"); again.StatusCode != http.StatusNotFound {
		t.Errorf("the next one: %d", again.StatusCode)
	}
}

// TestExportURL keeps the filters of a list, but not the parameters of its page.
func TestExportURL(t *testing.T) {
	q, _ := url.ParseQuery("status=active&key=&before=7&after=x&live=off&page=2&list=audit&from=2026-11-15T00:00")
	if got, want := area.ExportURL("/console/exports", export.Licenses, q), "/console/exports?from=2026-11-15T00%3A00&list=licenses&status=active"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if strings.Contains(area.ExportURL("/x", export.Audit, nil), "&") {
		t.Error("no filter has some")
	}
}
