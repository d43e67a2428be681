-- cluster
-- kind: expanding

-- The machine and the program of each node, when the program started, and the node's last beat.
ALTER TABLE nodes ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE nodes ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE nodes ADD COLUMN started_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN beat_at BIGINT NOT NULL DEFAULT 0;

-- Nodes whose work others took over, because they were silent. They may return.
CREATE TABLE silent_nodes (
	node       TEXT NOT NULL PRIMARY KEY,
	host       TEXT NOT NULL,
	version    TEXT NOT NULL,
	started_at BIGINT NOT NULL,
	beat_at    BIGINT NOT NULL
);
