package audit

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"claviger/internal/plural"
)

// facts are an entry's facts, decoded.
type facts map[string]any

func readFacts(text string) facts {
	f := facts{}
	if text != "" {
		_ = json.Unmarshal([]byte(text), &f) // unreadable facts are left out
	}
	return f
}

func (f facts) text(name string) string { s, _ := f[name].(string); return s }

func (f facts) number(name string) int64 { n, _ := f[name].(float64); return int64(n) }

func (f facts) is(name string) bool { b, _ := f[name].(bool); return b }

// People returns the ids of the people in the entries, as actors for the partner or as subjects.
// Sentence needs their names.
func People(entries []Entry) []int64 {
	var ids []int64
	for _, e := range entries {
		if id := e.Member(); id != 0 {
			ids = append(ids, id)
		}
		for _, text := range []string{e.Before, e.After} {
			if id := readFacts(text).number("user_id"); id != 0 {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// Sentence describes an entry about a partner, for the partner's people. names has the names of
// People; erased users have none. The sentence contains no buyer, no free text of the marketplace
// and no secret.
func (e Entry) Sentence(names map[int64]string) string {
	before := readFacts(e.Before)
	after := readFacts(e.After)
	switch e.Action {
	case "partner.update":
		return changes(before, after, partnerMembers)
	case "profile.urls":
		return changes(before, after, urlMembers)
	case "profile.connection":
		return changes(before, after, connectionMembers)
	case "partner.rotate":
		return rotated(after)
	case "partner.member":
		return membership(before, after, names)
	case "partner.member_remove":
		return fmt.Sprintf("Removed %s from the team.", person(before, names))
	case "partner.switch":
		return fmt.Sprintf("Ended the overlap: the replaced %s stopped working.", secretName(after))
	case "partner.key":
		return fmt.Sprintf("Made an API key%s.", ending(after))
	case "partner.revoke":
		return fmt.Sprintf("Revoked the %s%s.", secretName(before), ending(before))
	case "partner.invite":
		return fmt.Sprintf("Invited a person as %s.", after.text("role"))
	case "partner.invite_accept":
		return fmt.Sprintf("Accepted an invitation as %s.", after.text("role"))
	case "plan.create", "plan.update", "plan.delete":
		return fmt.Sprintf(
			"%s the plan of tier %d.",
			planVerbs[e.Action],
			max(before.number("tier"), after.number("tier")),
		)
	case "export.begin":
		return fmt.Sprintf("Exported a file: %s.", after.text("kind"))
	case "endpoint.try":
		return "Had the webhook URL tried immediately."
	case "event.redeliver":
		return fmt.Sprintf("Sent event %s again.", strings.TrimPrefix(e.Subject, "event:"))
	}
	if s, ok := sentences[e.Action]; ok {
		return s
	}
	return NoSentence
}

// NoSentence is the sentence for an unknown action.
const NoSentence = "Changed something about this application."

// sentences depend only on the action.
var sentences = map[string]string{
	"partner.create":          "Added this application to the marketplace.",
	"partner.product":         "Changed what buyers read about this application.",
	"partner.terms":           "Set new terms: how sales are shared from then on.",
	"ledger.from":             "Changed from when sales count in the balances.",
	"ledger.adjust":           "Adjusted the balance of this application.",
	"partner.payout_details":  "Changed the payout details.",
	"payout.prepare":          "Prepared a payout run.",
	"payout.settle":           "Settled lines of a payout run.",
	"partner.pause":           "Paused this application: nothing is sold, and webhooks wait.",
	"partner.resume":          "Resumed this application.",
	"partner.redeliver":       "Sent a span of events again.",
	"partner.member_leave":    "Left the team.",
	"partner.member_erase":    "Deleted an account that was a member of the team.",
	"partner.invite_withdraw": "Withdrew an invitation.",
	"support.enter":           "Entered this portal as support, to look.",
	"support.allow":           "Took the second step: as support, changes were allowed until the end of the visit.",
	"support.leave":           "Left this portal as support.",
	"contact.create":          "Added a contact.",
	"contact.delete":          "Removed a contact.",
	"contact.test":            "Sent a test mail to a contact.",
	"scenario.run":            "Ran scenarios against the webhook URL.",

	"partner.delete":           "Deleted this application.",
	"partner.redeliver_pause":  "Paused a recovery of events.",
	"partner.redeliver_resume": "Resumed a recovery of events.",
	"partner.redeliver_cancel": "Cancelled a recovery of events.",
	"partner.redeliver_stop":   "Stopped a recovery of events that failed again and again.",

	"license.redeem":          "Redeemed a license.",
	"license.activate":        "Activated a license.",
	"license.hold":            "Put a license on hold.",
	"license.reinstate":       "Reinstated a license.",
	"license.release":         "Released a license from its account in the application.",
	"license.transfer":        "Transferred a license to another person.",
	"license.plan":            "Changed the plan of a license.",
	"license.refund":          "Refunded a license.",
	"license.refund_reversed": "Reversed the refund of a license.",
	"license.erase":           "Ended a license, since its owner was erased.",
	"purchase.create":         "Recorded a purchase.",
	"license.import":          "Brought licenses in that were sold elsewhere.",
	"payment.evidence":        "Sent the evidence for a dispute to Stripe.",
	"payment.evidence_draft":  "Saved the evidence for a dispute.",
	"payment.dismiss":         "Marked a problem with a payment as dealt with.",
	"payment.plan_rule":       "Changed what a change of plan costs.",
	"payment.refund":          "Asked Stripe to refund a payment.",
	"refund.create":           "Recorded a refund.",
	"refund_request.create":   "Asked for a refund.",
	"refund_request.refund":   "Granted the refund that a buyer asked for.",
	"refund_request.decline":  "Declined the refund that a buyer asked for.",
	"refund_request.refunded": "Paid the refund that a buyer asked for.",
	"refund_request.failed":   "Failed to pay the refund that a buyer asked for.",
	"oauth.accept":            "Agreed to connect a license with the application.",
	"oauth.revoke":            "Revoked tokens of a connection.",
	"oauth.foreign":           "Presented a token of another application; the token was revoked.",

	"bulk.start":        "Began an act on many rows.",
	"bulk.leave_out":    "Left rows out of an act on many rows.",
	"bulk.put_back":     "Put rows back into an act on many rows.",
	"bulk.pause":        "Paused an act on many rows.",
	"bulk.resume":       "Resumed an act on many rows.",
	"bulk.cancel":       "Cancelled an act on many rows.",
	"bulk.stop":         "Stopped an act on many rows.",
	"mail.send":         "Had a mail sent again.",
	"mail.dismiss":      "Dismissed a mail that was given up.",
	"mail.test":         "Sent a test mail.",
	"database.restore":  "Restored the database from a backup.",
	"key.create":        "Made a signing key.",
	"key.rotate":        "Rotated a signing key.",
	"secret_key.rotate": "Sealed all stored secrets with a new secret key.",
	"key.revoke":        "Revoked a signing key.",
	"key.forget":        "Removed a signing key whose tokens have expired.",
	"token.create":      "Made an operator token.",
	"token.revoke":      "Revoked an operator token.",

	"operator.invite":          "Invited a person to the team of the marketplace.",
	"operator.invite_withdraw": "Withdrew an invitation to the team of the marketplace.",

	"user.create":              "Made an account.",
	"user.sign_up":             "Signed up.",
	"user.update":              "Changed an account.",
	"user.erase":               "Erased an account.",
	"user.data":                "Downloaded all data about a person.",
	"user.guest":               "Started a purchase without an account.",
	"user.merge":               "Merged a person into another one.",
	"user.operator":            "Changed a role in the team of the marketplace.",
	"user.link":                "Made a sign-in link.",
	"user.sign_in":             "Signed in.",
	"user.confirm":             "Confirmed a second factor.",
	"user.session_end":         "Ended a session.",
	"user.sign_out_everywhere": "Signed out everywhere.",
	"user.password":            "Changed the password of an account.",
	"user.email":               "Changed the email address of an account.",
	"user.recovery_codes":      "Made new recovery codes.",
	"user.totp_add":            "Added one-time codes to an account.",
	"user.totp_remove":         "Removed one-time codes from an account.",
	"user.passkey_add":         "Added a passkey to an account.",
	"user.passkey_rename":      "Renamed a passkey.",
	"user.passkey_remove":      "Removed a passkey from an account.",
	"user.passkey_refused":     "A passkey was refused.",
	"user.factors_remove":      "Removed the second factors of an account.",
}

var planVerbs = map[string]string{"plan.create": "Added", "plan.update": "Changed", "plan.delete": "Removed"}

// member is a fact with sentences about its change. format has the old value and the new one.
type member struct {
	name   string
	format string            // of values; "" if there are only words
	words  map[string]string // by the new value, instead of the format
	minor  bool              // used only if there is no other change
}

var (
	partnerMembers = []member{
		{name: "name", format: "Changed the name from %s to %s."},
		{name: "brand", format: "Changed the brand in header names from %s to %s."},
		{name: "strict", words: map[string]string{
			"true":  "Made delivery strict: only 200 with success: true counts.",
			"false": "Made delivery lenient: any 2xx counts unless it says success: false.",
		}},
		{name: "single_key", words: map[string]string{
			"true": "Made the API key the webhook secret, too.", "false": "Gave webhooks a secret of their own.",
		}},
		{name: "webhook_concurrency", format: "Changed how many webhooks are on their way at a time from %s to %s."},
	}
	urlMembers = []member{
		{name: "webhook_url", format: "Changed the webhook URL from %s to %s."},
		{name: "redirect_url", format: "Changed the redirect URL from %s to %s."},
		{name: "webhook_valid", words: map[string]string{"true": "Checked the webhook URL."}, minor: true},
		{name: "redirect_valid", words: map[string]string{"true": "Checked the redirect URL."}, minor: true},
	}
	connectionMembers = []member{
		{name: "initiate_login_uri", format: "Changed the sign-in start URL from %s to %s."},
		{name: "id_token_alg", format: "Changed the signing algorithm of identity tokens from %s to %s."},
		{name: "error_member", words: map[string]string{
			"true": "Switched the empty error member of token answers on.", "false": "Switched the empty error " +
				"member of token answers off.",
		}},
	}
)

// changes describes the changed members.
func changes(before, after facts, members []member) string {
	var list []string
	for _, m := range members {
		old := value(before[m.name])
		now := value(after[m.name])
		switch {
		case old == now, m.minor && len(list) > 0:
		case m.format != "":
			list = append(list, fmt.Sprintf(m.format, old, now))
		case m.words[now] != "":
			list = append(list, m.words[now])
		}
	}
	if len(list) == 0 {
		return "Saved the settings without a change."
	}
	return strings.Join(list, " ")
}

// value returns a fact for a sentence. URLs lose their query: it may contain a token.
func value(v any) string {
	switch v := v.(type) {
	case string:
		if u, err := url.Parse(v); err == nil && u.Host != "" {
			return u.Scheme + "://" + u.Host + u.EscapedPath()
		}
		if v == "" {
			return "none"
		}
		return v
	case nil:
		return "none"
	default:
		return fmt.Sprint(v)
	}
}

var secretNames = map[string]string{
	"client_secret":  "client secret",
	"api_key":        "API key",
	"webhook_secret": "webhook secret",
}

func secretName(f facts) string {
	if s := secretNames[f.text("what")]; s != "" {
		return s
	}
	return "secret"
}

// ending identifies one of several secrets.
func ending(f facts) string {
	if s := f.text("ending"); s != "" {
		return " ending in " + s
	}
	return ""
}

func rotated(f facts) string {
	what := "Rotated the " + secretName(f) + ending(f)
	if f.text("what") == "single_key" {
		what = "Replaced the API key and the webhook secret by two"
		if f.is("single_key") {
			what = "Replaced the API key and the webhook secret by a single key"
		}
	}
	overlap := time.Duration(f.number("overlap_s")) * time.Second
	switch {
	case overlap == 0:
		return what + "; the replaced one ended immediately."
	case overlap%time.Hour == 0:
		return fmt.Sprintf(
			"%s; the replaced one worked for another %s.",
			what,
			plural.Of(int64(overlap/time.Hour), "hour"),
		)
	default:
		return fmt.Sprintf(
			"%s; the replaced one worked for another %s.",
			what,
			plural.Of(int64(overlap/time.Second), "second"),
		)
	}
}

func membership(before, after facts, names map[int64]string) string {
	who := person(after, names)
	if old := before.text("role"); old != "" {
		return fmt.Sprintf("Changed the role of %s from %s to %s.", who, old, after.text("role"))
	}
	return fmt.Sprintf("Added %s to the team as %s.", who, after.text("role"))
}

func person(f facts, names map[int64]string) string {
	if name := names[f.number("user_id")]; name != "" {
		return name
	}
	return "a person whose account is deleted"
}
