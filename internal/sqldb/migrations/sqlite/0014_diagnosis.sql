-- webhook

-- The likely mistake behind a failed attempt, in words; '' where there is none to tell.
ALTER TABLE webhook_responses ADD COLUMN diagnosis TEXT NOT NULL DEFAULT '';
