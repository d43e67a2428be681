-- partner

-- How a partner's application is presented to buyers. A partner without a row has said
-- nothing yet.
CREATE TABLE products (
	partner_id    INTEGER PRIMARY KEY REFERENCES partners (id),
	tagline       TEXT NOT NULL,
	description   TEXT NOT NULL,
	website       TEXT NOT NULL,
	support_email TEXT NOT NULL,
	refund_terms  TEXT NOT NULL,
	icon          TEXT NOT NULL,
	updated_at    INTEGER NOT NULL
) STRICT;

-- The icons themselves, as PNG in base64, apart from what lists read. hash is the icon of
-- the product.
CREATE TABLE product_icons (
	partner_id INTEGER PRIMARY KEY REFERENCES partners (id),
	hash       TEXT NOT NULL,
	png        TEXT NOT NULL
) STRICT;

-- features has one per line.
ALTER TABLE plans ADD COLUMN description TEXT NOT NULL DEFAULT '';
ALTER TABLE plans ADD COLUMN features TEXT NOT NULL DEFAULT '';
ALTER TABLE plans ADD COLUMN recommended INTEGER NOT NULL DEFAULT 0;
ALTER TABLE plans ADD COLUMN sort INTEGER NOT NULL DEFAULT 0;
