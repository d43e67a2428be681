-- stats

-- PostgreSQL needs nothing here: an index with the counters in it would keep it from
-- changing them in place, and it reads the rows of a day by the index that there is.
