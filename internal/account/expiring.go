package account

import "claviger/internal/prune"

// Expiring lists the rows that expire: links, users known only by a sign-up, sessions,
// challenges of passkeys and counts of wrong passwords.
func Expiring() []prune.Rule {
	return []prune.Rule{
		{Table: "login_links", At: "expires_at", Keep: linkKept},
		// All links to such a user have expired and are gone.
		{Table: "users", At: "pending_since", Keep: signUpKept, If: `pending_since <> 0`},
		{Table: "guest_links", Key: "hash", At: "expires_at", Keep: linkKept},
		{Table: "sessions", Key: "hash", At: "expires_at"},
		{Table: "signed_sessions", Key: "hash", At: "expires_at"},
		{Table: "used_challenges", Key: "hash", At: "expires_at"},
		{Table: "password_tries", Key: "key_hash", At: "since", Keep: triesSpan},
	}
}
