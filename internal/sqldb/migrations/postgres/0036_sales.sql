-- stats

-- The sums of a day over all partners are read from the index alone. It takes the place of
-- the one by day, which it begins with.
CREATE INDEX stats_days_sales ON stats_days (day, sold, activated_soon);
DROP INDEX stats_days_day;
CREATE INDEX stats_refunds_sales ON stats_refunds (day, refunded);
DROP INDEX stats_refunds_day;
