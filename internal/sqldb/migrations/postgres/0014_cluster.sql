-- cluster

-- The running nodes. A node moves until ahead while it runs; sessions is the
-- application_name of all its connections; one that is leaving gets no more shards.
CREATE TABLE nodes (
	node     TEXT NOT NULL PRIMARY KEY,
	sessions TEXT NOT NULL,
	until    BIGINT NOT NULL,
	leaving  BOOLEAN NOT NULL
);

-- Which node acts for a shard of partners. Each change of the owner raises the epoch;
-- rows are never deleted, or epochs would restart.
CREATE TABLE shards (
	shard BIGINT NOT NULL PRIMARY KEY,
	node  TEXT NOT NULL,
	epoch BIGINT NOT NULL
);
INSERT INTO shards (shard, node, epoch) SELECT n, '', 0 FROM generate_series(0, 63) AS n;
