-- account
ALTER TABLE operator_tokens ADD COLUMN last_used_at BIGINT NOT NULL DEFAULT 0;
