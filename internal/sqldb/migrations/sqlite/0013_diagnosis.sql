-- webhook

-- The likely mistake behind a failed attempt, in words; '' where there is none to tell.
ALTER TABLE webhook_responses ADD COLUMN diagnosis TEXT NOT NULL DEFAULT '';

-- profile

-- When the URLs of a partner were last checked, the times as decimals with a space
-- between; and until when a check has them for itself.
ALTER TABLE profiles ADD COLUMN check_times TEXT NOT NULL DEFAULT '';
ALTER TABLE profiles ADD COLUMN check_until INTEGER NOT NULL DEFAULT 0;
