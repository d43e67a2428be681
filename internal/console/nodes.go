package console

import (
	"net/http"
	"strconv"

	"claviger/internal/cluster"
	"claviger/internal/release"
	"claviger/internal/ui"
)

// nodes lists the running nodes with their versions.
func (s *System) nodes(w http.ResponseWriter, r *http.Request, v *Visit) error {
	list, err := cluster.List(r.Context(), s.DB)
	if err != nil {
		return err
	}
	t := ui.Table{
		ID: "nodes", Caption: "Nodes", Cards: true,
		Columns: []ui.Column{
			{Label: "Node"},
			{Label: "State"},
			{Label: "Version"},
			{Label: "Started", Named: true},
			{Label: "Shards", Number: true},
			{Label: "Last beat", Named: true},
		},
	}
	for _, m := range list {
		t.Rows = append(t.Rows, nodeRow(m))
	}
	view := recordsView{
		Heading: "Nodes",
		Lead: "The processes that serve this database. Partners are split into 64 shards, and the node that " +
			"owns a shard sends its webhooks. Nodes that fell silent stay here for a minute.",
		Results: ui.Results{Table: t},
	}
	return s.render(w, r, v, "records", ui.View{Title: "Nodes", Data: view})
}

// nodeRow returns the row of a node. A version other than this node's is noted, as during an upgrade.
func nodeRow(m cluster.Member) ui.Row {
	state := "ok"
	switch {
	case m.Silent:
		state = "late"
	case m.Leaving:
		state = "waiting"
	}
	version := ui.Cell{Text: m.Version, Code: true}
	if m.Version != release.Version {
		version.Note = "this page is from " + release.Version
	}
	if m.Version == "" {
		version = ui.Cell{Text: "before 1.0.0"}
	}
	return ui.Row{ID: "node-" + m.ID, Cells: []ui.Cell{
		{Text: m.Host, Code: true},
		{Status: state},
		version,
		{At: m.StartedAt},
		{Text: strconv.Itoa(m.Shards)},
		{At: m.BeatAt, Exact: true},
	}}
}
