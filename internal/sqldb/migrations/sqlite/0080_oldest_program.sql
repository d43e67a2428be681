-- sqldb
-- kind: expanding

-- The oldest version of the program that may run on this schema, in the only row. A contracting
-- migration raises it.
CREATE TABLE oldest_program (
	version TEXT NOT NULL PRIMARY KEY
);
INSERT INTO oldest_program (version) VALUES ('1.0.0');
