package seed

import (
	"fmt"
	"strings"
)

// The statements that fill a World. See world for the words in braces.
const (
	numberedLicenses = ` , numbered AS (SELECT x AS i, (x - 1) / 10 * 3 + (x - 1) % 10 - 7 AS m FROM numbers) `
	numberedEvents   = ` , counted AS (SELECT x AS e, (x - 1) % {n} + 1 AS i, (x - 1) / {n} AS k FROM numbers),
		numbered AS (SELECT e, i, k, (i - 1) / 10 * 3 + (i - 1) % 10 - 7 AS m FROM counted) `

	worldLicenses = numberedLicenses + `INSERT INTO licenses (id, partner_id, ord, license_key, redemption_id, status,
		tier, owner_id, redeemed, released, held, erased,
			epoch, event_ms, created_at, updated_at)
		SELECT i, {partner}, {ord}, {key}, {redemption}, {status}, {tier}, CASE WHEN {status} = 1 THEN 0
		ELSE {buyer} END, {status} <> 1, 1 = 0,
			CASE WHEN {status} = 3 THEN 2 ELSE 0 END, 1 = 0, 0, ({begun} + (4 * {n} + i) * {spacing}) / 1000000,
			{begun} + i * {spacing}, {begun} + (4 * {n} + i) * {spacing}
		FROM numbered`
	worldPurchases = numberedLicenses + `INSERT INTO purchases (id, partner_id, kind, external_id, tier, quantity,
		amount_cents, currency, user_id, content, created_at, posted)
		SELECT i, {partner}, 1, 'order-' || i, {tier}, 1, 4900, 'USD', {buyer}, '', {begun} + i * {spacing}, 1 = 1
		FROM numbered`
	worldLinks = numberedLicenses + `INSERT INTO purchase_links (license_id, seq, purchase_id, tier,
		refund_id) SELECT i, 1, i, {tier}, 0 FROM numbered`
	worldAudit = numberedLicenses + `INSERT INTO audit_entries (at, actor_kind, actor_id, actor_name, action, subject,
		before, after)
		SELECT {begun} + i * {spacing}, 'token', 1, 'shop', 'purchase.create', 'purchase:' || i, '',
		'{"quantity":1,"tier":1}' FROM numbered`
	worldBuyers = `INSERT INTO users (email, email_key, name, external_id, operator, password_hash, proven_at,
		created_at, updated_at, erased_at)
		SELECT 'Buyer-' || x || '@example.com', 'buyer-' || x || '@example.com', 'Buyer ' || x, 'customer-' || x, 1 = 0,
		'', 0, {begun}, {begun}, 0 FROM numbers`
	worldMails = `INSERT INTO mails (cause, thread, recipient, recipient_key, subject, sealed, body, html, state,
		attempts, due_at, lease_until, error, created_at, sent_at)
		SELECT 'receipt:' || x, '', 'Buyer-' || x || '@example.com', 'buyer-' || x || '@example.com', 'Your license',
		1 = 0, 'Thank you.', '', 2, 1,
			{end} - x * 20000000000, 0, '', {end} - x * 20000000000, {end} - x * 20000000000 FROM numbers`

	worldEvents = numberedEvents + `INSERT INTO events (id, partner_id, ord, license_id, license_key, kind, tier,
		previous_tier, reason, event_ms, status, created_at)
		SELECT e, {partner}, k * {count} + {ord}, i, {key}, {kind}, 1 + (i + k) % 3, CASE WHEN k = 0 THEN 0
		ELSE 1 + (i + k + 2) % 3 END, {reason},
			{at} / 1000000, {status}, {at} FROM numbered`
	worldDeliveries = numberedEvents + `INSERT INTO deliveries (event_id, partner_id, license_id, license_key, kind,
		body, created_at)
		SELECT e, {partner}, i, {key}, {kind}, '{"license_key":"' || {key} || '","event":"' || (CASE {kind} WHEN 1
		THEN 'purchase' WHEN 2 THEN 'activate' ELSE 'deactivate' END)
			|| '","license_status":"' || (CASE {kind} WHEN 1 THEN 'inactive' WHEN 2 THEN 'active'
			ELSE 'deactivated' END) || '","event_timestamp":' || ({at} / 1000000)
			|| ',"event_id":' || e || ',"tier":' || (1 + (i + k) % 3) || ',"reason":"' || {reason}
			|| '","test":false,"created_at":' || ({at} / 1000000)
			|| ',"extra":{"reason":"The buyer changed the plan."},"partner_plan_name":"Plan"}', {at} FROM numbered`
	// Of 21 attempts the last two belong to one event.
	worldAttempts = ` , tried AS (SELECT (x - 1) / 21 * 20 + (CASE WHEN (x - 1) % 21 = 20 THEN 19
		ELSE (x - 1) % 21 END) + 1 AS e, (x - 1) % 21 = 19 AS first FROM numbers),
		counted AS (SELECT e, first, (e - 1) % {n} + 1 AS i FROM tried),
		numbered AS (SELECT e, i, first OR {open} OR {gone} AS failed FROM counted)
		INSERT INTO webhook_responses (event_id, request_header, response_status, response_body, response_time, url,
		success, created_at, updated_at, diagnosis,
			dns_us, connect_us, tls_us, first_byte_us)
		SELECT e, 'Content-Type: application/json; charset=UTF-8' || {line} || 'User-Agent: Claviger/1.0' || {line} 
				|| 'webhook-id: evt_' || e || {line}
				|| 'webhook-timestamp: ' || ({at} / 1000000000) || {line}
				|| 'webhook-signature: v1,0vD3QW1mHvV0Cj9b1yYjT5zO8sJj0l1dVQ5Z7H1u2aQ=' || {line},
			CASE WHEN failed THEN {refused} ELSE 200 END, CASE WHEN NOT failed THEN '{"success":true}'
			WHEN {refused} = 0 THEN 'the connection was refused' ELSE 'no' END,
			20 + e % 300, 'https://partner.example.com/webhook', NOT failed, {at}, {at}, CASE WHEN failed
			THEN 'Your server did not accept it.' ELSE '' END,
			400, 900, 2100, 15000 FROM numbered`

	newest = `WITH RECURSIVE numbers (x) AS (SELECT CAST({events} - 200000 AS bigint) UNION ALL SELECT x + 1
		FROM numbers WHERE x < {events})`

	worldOutbox = newest + numberedEvents + `INSERT INTO outbox (event_id, partner_id, license_id, state, attempts,
		due_at, created_at, updated_at)
		SELECT e, {partner}, i, CASE WHEN {open} THEN 1 ELSE 3 + e / 50 % 2 END, 3, {at} + 3600000000000, {at}, {at}
		FROM numbered WHERE e > 0 AND ({open} OR {gone})`

	few = `WITH RECURSIVE numbers (x) AS (SELECT CAST(0 AS bigint) UNION ALL SELECT x + 1 FROM numbers
		WHERE x < %d) `
	worldActsN = 500
)

// Refused requests and audit entries: as many as the log stores of the first partner, and some acts
// of every partner.
var (
	worldCalls = fmt.Sprintf(few, 1799) + `INSERT INTO refused_calls (partner_id, slot, seq, at, method, path, status,
		code, cause, message, request_id, license_key)
		SELECT 1, x, x + 1, {end} - (1799 - x) * 300000000000, 'POST', '/openid/token', 400, 'invalid_grant', CASE
		WHEN x % 2 = 0 THEN 'code_expired' ELSE 'code_used' END,
			'The code is not valid any more. Begin the sign-in again.', 'req_' || x,
			'00000000-1000-4000-8000-000000000001' FROM numbers`
	worldCallCounter = `INSERT INTO refused_counters (partner_id, last, calls) SELECT id, CASE WHEN id = 1 THEN 1900
		ELSE 0 END, CASE WHEN id = 1 THEN 1800 ELSE 0 END FROM partners`
	worldGroups = fmt.Sprintf(few, 99) + `INSERT INTO refused_groups (partner_id, day, proven, method, path,
		status, code, cause, seq, first_at, at, count, message, request_id, license_key)
		SELECT 1, ({end} - x * 3600000000000) / 86400000000000, 1 = 0, 'POST', '/openid/token', 401, 'invalid_client',
		'cause_' || x, 1801 + x,
			{end} - x * 3600000000000, {end} - x * 3600000000000, 1 + x, 'The client secret is wrong.', 'req_g' || x, ''
			FROM numbers`
	worldCounts = fmt.Sprintf(few, 167) + `INSERT INTO request_counts (partner_id, hour, answered, refused, dropped)
		SELECT id, {end} / 3600000000000 - x, 1000 + x, 20, 0 FROM numbers, partners`
	worldActs = fmt.Sprintf(few, worldActsN) + `INSERT INTO audit_entries (at, actor_kind, actor_id, actor_name, action,
		subject, before, after, partner_id, acting_for)
		SELECT {end} - (500 - x) * 7200000000000, 'partner', id, '', 'partner.update', 'partner:' || id,
		'{"name":"Before ' || x || '"}', '{"name":"After ' || x || '"}', id, 0
		FROM numbers, partners`

	// The figures of forty days.
	worldDays = `INSERT INTO stats_days (partner_id, day, sold, activated, deactivated, refunded, activated_soon)
		SELECT partner_id, created_at / 86400000000000, sum(CASE WHEN reason = 'purchased' THEN 1 ELSE 0 END),
		sum(CASE WHEN reason = 'redeemed' THEN 1 ELSE 0 END),
			sum(CASE WHEN kind = 3 THEN 1 ELSE 0 END), sum(CASE WHEN reason = 'refunded' THEN 1 ELSE 0 END), 0
		FROM events WHERE created_at >= {end} - 3456000000000000 GROUP BY partner_id, created_at / 86400000000000`
	worldFailures = `INSERT INTO stats_failures (partner_id, hour, status, count, first_at, last_at)
		SELECT d.partner_id, r.created_at / 3600000000000, r.response_status, count(*), min(r.created_at),
		max(r.created_at)` + newestAttempts + `
		WHERE NOT r.success GROUP BY d.partner_id, r.created_at / 3600000000000, r.response_status`
	worldCursors = `UPDATE stats_cursors SET at = CASE source WHEN 'events' THEN {events}
		ELSE (SELECT max(id) FROM webhook_responses) END`
)

// newestAttempts are the attempts of the last eight days.
const newestAttempts = ` FROM (SELECT * FROM webhook_responses WHERE id > {events} / 20 * 21 - 145000) AS r
	JOIN deliveries AS d ON d.event_id = r.event_id`

// worldHours counts attempts by hour, with their durations.
func worldHours() string {
	columns, sums := []string{"succeeded", "failed"}, []string{`sum(CASE WHEN r.success THEN 1 ELSE 0 END)`, `sum(CASE
		WHEN r.success THEN 0 ELSE 1 END)`}
	above := 0
	for _, ms := range []int{
		5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 7500, 10000,
	} {
		columns = append(columns, fmt.Sprintf("le_%d", ms))
		sums = append(sums, fmt.Sprintf(`sum(CASE WHEN r.response_time > %d AND r.response_time <= %d THEN 1
			ELSE 0 END)`, above, ms))
		above = ms
	}
	return `INSERT INTO stats_hours (partner_id, hour, ` + strings.Join(append(columns, "le_more"), ", ") + `)
		SELECT d.partner_id, r.created_at / 3600000000000,
		` + strings.Join(append(sums, "0"), ", ") + newestAttempts + `
		GROUP BY d.partner_id, r.created_at / 3600000000000`
}
