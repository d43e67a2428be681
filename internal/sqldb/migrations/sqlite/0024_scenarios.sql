-- simulator

-- Runs of scenarios: the newest of each partner are kept. until is when a run that is
-- under way counts as interrupted unless its node says otherwise before.
CREATE TABLE scenario_runs (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	partner_id INTEGER NOT NULL REFERENCES partners (id) ON DELETE CASCADE,
	scenario   TEXT NOT NULL,
	state      TEXT NOT NULL,
	verdict    TEXT NOT NULL,
	note       TEXT NOT NULL,
	steps      INTEGER NOT NULL,
	done       INTEGER NOT NULL,
	url        TEXT NOT NULL,
	actor_kind TEXT NOT NULL,
	actor_id   INTEGER NOT NULL,
	last_event INTEGER NOT NULL,
	started_at INTEGER NOT NULL,
	ended_at   INTEGER NOT NULL,
	until      INTEGER NOT NULL
) STRICT;
CREATE INDEX scenario_runs_partner ON scenario_runs (partner_id, id);
CREATE INDEX scenario_runs_age ON scenario_runs (started_at);

CREATE TABLE scenario_steps (
	run_id   INTEGER NOT NULL REFERENCES scenario_runs (id) ON DELETE CASCADE,
	position INTEGER NOT NULL,
	result   TEXT NOT NULL,
	PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;

-- The last verdict on each scenario that ended, which outlasts its run.
CREATE TABLE scenario_verdicts (
	partner_id INTEGER NOT NULL REFERENCES partners (id) ON DELETE CASCADE,
	scenario   TEXT NOT NULL,
	run_id     INTEGER NOT NULL,
	verdict    TEXT NOT NULL,
	at         INTEGER NOT NULL,
	PRIMARY KEY (partner_id, scenario)
) STRICT, WITHOUT ROWID;

-- Licenses of scenarios and test events, which are no licenses: they are shown to their
-- partner for an hour.
CREATE TABLE test_licenses (
	partner_id    INTEGER NOT NULL REFERENCES partners (id) ON DELETE CASCADE,
	license_key   TEXT NOT NULL,
	redemption_id TEXT NOT NULL,
	status        TEXT NOT NULL,
	tier          INTEGER NOT NULL,
	created_at    INTEGER NOT NULL,
	updated_at    INTEGER NOT NULL,
	expires_at    INTEGER NOT NULL,
	PRIMARY KEY (partner_id, license_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX test_licenses_partner ON test_licenses (partner_id, expires_at);
CREATE INDEX test_licenses_age ON test_licenses (expires_at);
