-- partner
-- Prices in these currencies were entered as if they had two digits after the point, and
-- would be charged wrongly: such a plan is not on sale until somebody saves it again.
ALTER TABLE plans ADD COLUMN recheck BOOLEAN NOT NULL DEFAULT false;
UPDATE plans SET recheck = true WHERE price_cents > 0 AND currency IN (
	'BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX',
	'UYI', 'VND', 'VUV', 'XAF', 'XOF', 'XPF', 'BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND', 'CLF', 'UYW');
CREATE INDEX plans_recheck ON plans (partner_id) WHERE recheck;
