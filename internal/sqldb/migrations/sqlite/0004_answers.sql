-- oauth

-- The sealed answer to the refresh that used a refresh token up, while it may be
-- repeated. It stands apart from the tokens, of which it was the largest part: a row
-- with one did not fit into its page.
CREATE TABLE oauth_answers (
	used_at INTEGER NOT NULL,
	hash    TEXT NOT NULL,
	answer  TEXT NOT NULL
) STRICT;
CREATE INDEX oauth_answers_used ON oauth_answers (used_at);
INSERT INTO oauth_answers (used_at, hash, answer) SELECT used_at, hash, answer FROM oauth_tokens WHERE answer <> '';
DROP INDEX oauth_tokens_answer;
ALTER TABLE oauth_tokens DROP COLUMN answer;
