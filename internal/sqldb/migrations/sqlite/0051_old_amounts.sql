-- license
-- Up to this purchase, amounts were entered and printed with two digits after the point in
-- every currency, and are still printed so. There is one row.
CREATE TABLE old_amounts (
	id            INTEGER NOT NULL PRIMARY KEY,
	last_purchase INTEGER NOT NULL
) STRICT;
INSERT INTO old_amounts (id, last_purchase) SELECT 1, coalesce(max(id), 0) FROM purchases;
