-- license
-- Each link has the license's part of what its purchase cost, and how much of its price was
-- credited for money that was paid before, both in the smallest unit of the currency.
ALTER TABLE purchase_links ADD COLUMN amount BIGINT NOT NULL DEFAULT 0;
ALTER TABLE purchase_links ADD COLUMN currency TEXT NOT NULL DEFAULT '';
ALTER TABLE purchase_links ADD COLUMN credit BIGINT NOT NULL DEFAULT 0;

-- No link stands: the money that was paid has gone back.
ALTER TABLE licenses ADD COLUMN ended BOOLEAN NOT NULL DEFAULT FALSE;

-- Licenses that this migration found working although the money for their plan had gone
-- back. A license that has ended since is not listed.
CREATE TABLE refunded_but_working (
	license_id BIGINT NOT NULL PRIMARY KEY
);

-- Amounts up to old_amounts.last_purchase count hundredths in every currency.
UPDATE purchase_links SET currency = p.currency, amount = (CASE
		WHEN p.id > (SELECT last_purchase FROM old_amounts) THEN p.amount_cents
		WHEN p.currency IN ('BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND', 'VUV', 'XAF', 'XOF', 'XPF')
			THEN p.amount_cents / 100
		WHEN p.currency IN ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND') THEN p.amount_cents * 10
		WHEN p.currency IN ('CLF', 'UYW') THEN p.amount_cents * 100
		ELSE p.amount_cents END) / (CASE WHEN p.quantity < 1 THEN 1 ELSE p.quantity END)
	FROM purchases AS p WHERE p.id = purchase_links.purchase_id AND (p.currency <> '' OR p.amount_cents <> 0);

-- Plan changes of the shop that cost nothing, to a plan that has a price: the money that was
-- kept then paid for them.
UPDATE purchase_links SET credit = found.credit FROM (
	SELECT k.license_id, k.seq, CASE WHEN kept.amount < plans.price_cents THEN kept.amount ELSE plans.price_cents END AS credit
	FROM purchases AS p JOIN purchase_links AS k ON k.purchase_id = p.id
	JOIN plans ON plans.partner_id = p.partner_id AND plans.tier = p.tier AND plans.currency = p.currency AND plans.price_cents > 0
	JOIN (
		SELECT k.license_id, k.seq, CAST(sum(e.amount) AS bigint) AS amount
		FROM purchases AS p JOIN purchase_links AS k ON k.purchase_id = p.id
		JOIN purchase_links AS e ON e.license_id = k.license_id AND e.seq < k.seq AND e.currency = p.currency
		LEFT JOIN refunds AS f ON f.id = e.refund_id
		WHERE p.kind = 2 AND p.shop AND p.amount_cents = 0 AND (e.refund_id = 0 OR f.created_at > p.created_at)
		GROUP BY k.license_id, k.seq) AS kept ON kept.license_id = k.license_id AND kept.seq = k.seq
	WHERE p.kind = 2 AND p.shop AND p.amount_cents = 0) AS found
	WHERE found.license_id = purchase_links.license_id AND found.seq = purchase_links.seq AND found.credit > 0;

-- No status and no tier changes: a chain to which the credits give another result has none,
-- and its license is listed.
INSERT INTO refunded_but_working (license_id)
	SELECT license_id FROM (
		SELECT c.license_id,
			(SELECT k.tier FROM purchase_links AS k WHERE k.license_id = c.license_id AND k.refund_id = 0 ORDER BY k.seq DESC LIMIT 1) AS was,
			(SELECT k.tier FROM purchase_links AS k WHERE k.license_id = c.license_id AND k.refund_id = 0 AND (k.amount + k.credit = 0
				OR k.amount + k.credit <= (SELECT sum(o.amount) FROM purchase_links AS o
					WHERE o.license_id = k.license_id AND o.refund_id = 0 AND o.currency = k.currency))
				ORDER BY k.seq DESC LIMIT 1) AS becomes
		FROM (SELECT DISTINCT license_id FROM purchase_links WHERE credit > 0) AS c) AS compared
	WHERE was IS NOT NULL AND (becomes IS NULL OR becomes <> was);
UPDATE purchase_links SET credit = 0 WHERE credit > 0 AND license_id IN (SELECT license_id FROM refunded_but_working);

UPDATE licenses SET ended = TRUE WHERE id IN (
	SELECT license_id FROM purchase_links GROUP BY license_id HAVING min(refund_id) <> 0);

-- payment
-- How much of the price was credited for money that was paid before.
ALTER TABLE checkouts ADD COLUMN credit BIGINT NOT NULL DEFAULT 0;
