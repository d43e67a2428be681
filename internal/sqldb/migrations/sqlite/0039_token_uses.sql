-- account
ALTER TABLE operator_tokens ADD COLUMN last_used_at INTEGER NOT NULL DEFAULT 0;
