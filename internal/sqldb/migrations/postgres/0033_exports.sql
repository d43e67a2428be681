-- export

-- How far an export is that somebody began on a page; the page knows it by its nonce.
-- about is how many rows were expected, -1 if that is not known; more says that there may
-- be more than about.
CREATE TABLE exports (
	actor_kind TEXT NOT NULL,
	actor_id   BIGINT NOT NULL,
	nonce      TEXT NOT NULL,
	kind       TEXT NOT NULL,
	format     TEXT NOT NULL,
	partner_id BIGINT NOT NULL,
	about      BIGINT NOT NULL,
	more       BOOLEAN NOT NULL,
	done       BIGINT NOT NULL,
	state      TEXT NOT NULL,
	started_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	PRIMARY KEY (actor_kind, actor_id, nonce)
);
CREATE INDEX exports_age ON exports (started_at);
