package scenario

import (
	"bytes"
	"fmt"
	"net/url"
	"time"

	"claviger/internal/courier"
	"claviger/internal/diagnose"
)

// expectation defines how the answer to a step is judged.
type expectation int

const (
	accepted  expectation = iota // it must count as delivered
	refused                      // it must not: accepting it is a mistake
	betterNot                    // it should not: accepting it is a warning
	quick                        // it must count as delivered, and soon
	proves                       // like accepted; shows that the earlier steps were refused only for their signature
	page                         // of a redirect URL: it must answer 200
	noError                      // of a redirect URL: it must not fail
)

// step is one event of a scenario, or a repeated one.
type step struct {
	title   string
	act     act
	license int // index of its license in the scenario
	tier    int // index of its plan (0 or 1)
	before  int // the previous plan: 1 or 2; 0 if the event does not change it

	again int // repeats the event of that step, counted from 1; 0: a new one
	many  int // number of concurrent events, each of its own license; 0: one

	expect expectation
	do     string                  // advice if the answer is not as expected
	age    time.Duration           // age of its timestamps
	forge  func(*diagnose.Forgery) // changes the signature; nil: correct
	body   func([]byte) []byte     // changes the body before it is signed; nil: unchanged

	raw *envelope  // id and body, instead of those made from the act
	get url.Values // calls the redirect URL with these parameters instead of posting an event; nil: posts
}

func (s step) count() int { return max(s.many, 1) }

// act is a change of a license.
type act struct{ kind, status, reason string }

var (
	purchased   = act{"purchase", "inactive", "purchased"}
	redeemed    = act{"activate", "active", "redeemed"}
	planChanged = act{"activate", "active", "plan_changed"}
	refunded    = act{"deactivate", "deactivated", "refunded"}
	reversed    = act{"activate", "active", "refund_reversed"}
	released    = act{"deactivate", "deactivated", "released"}
)

// The limits of the scenario Slow.
const (
	// QuickAnswer is the longest duration of an answer without a warning.
	QuickAnswer = 3 * time.Second
	// AtOnce is the number of concurrent events.
	AtOnce = 5
)

// OldAge is the age of an old post's timestamps.
const OldAge = time.Hour

// Advice on unexpected answers.
const (
	doStore = "Store the license by one upsert of (license_key, license_status, tier), whatever the event and " +
		"the reason, and answer 200 {\"success\":true}."
	doDuplicate = "The same event comes again when your answer got lost on its way. Ignore an event_id that is not " +
		"higher than the stored one, and answer 200 all the same."
	doOlder = "An older event can arrive after a newer one, as when it is sent again by hand. Ignore an event_id " +
		"that is lower than the stored one, and answer 200 all the same."
	doUnknown = "You may not have the license yet, as after an outage: insert what you do not know, and answer 200."
	doMember  = "Members are added over time: ignore those that you do not know. A strict schema for the body is " +
		"the usual cause."
	doVerify = "Anybody who knows the URL could send you events: verify the signature before anything else, and " +
		"answer 401 when it is wrong or missing."
	doBodyOnly = "The signature must cover the timestamp too, or an old post can be sent again for ever: put the " +
		"timestamp before the body that you sign."
	doAge = "Refuse posts whose timestamp is more than five minutes from your clock, or anyone who recorded one can " +
		"send it again later."
	doRight  = "Your server refuses the right post too, so the refusals before it show nothing."
	doSecret = "No common mistake in signing explains it: compare the secret that your server verifies with and the " +
		"one of this check, whsec_ included, and the names of the headers that it reads: X-<Brand>-Signature with " +
		"X-<Brand>-Timestamp, or webhook-signature with webhook-id and webhook-timestamp."
)

var all = []Scenario{
	{Journey, "Whole journey", "A license is bought, activated and deactivated.", []step{
		{title: "purchase", act: purchased, do: doStore},
		{title: "activate", act: redeemed, do: doStore},
		{title: "deactivate", act: refunded, do: doStore},
	}},
	{
		Plan,
		"Plan up and down",
		"The buyer of an active license takes a larger plan, then goes back. Only tier and previous_tier tell it " +
			"from an activation.",
		[]step{
			{title: "purchase", act: purchased, do: doStore},
			{title: "activate", act: redeemed, do: doStore},
			{title: "activate with a higher tier", act: planChanged, tier: 1, before: 1, do: doStore},
			{title: "activate with the lower tier", act: planChanged, before: 2, do: doStore},
		},
	},
	{Refund, "Refund", "An active license is refunded: access ends.", []step{
		{title: "purchase", act: purchased, do: doStore},
		{title: "activate", act: redeemed, do: doStore},
		{title: "deactivate, refunded", act: refunded, do: doStore},
	}},
	{
		RefundReversed,
		"Refund reversed",
		"A refund is taken back: the license is active again without a new purchase.",
		[]step{
			{title: "purchase", act: purchased, do: doStore},
			{title: "activate", act: redeemed, do: doStore},
			{title: "deactivate, refunded", act: refunded, do: doStore},
			{title: "activate, refund reversed", act: reversed, do: doStore},
		},
	},
	{
		Reactivation,
		"Activated again",
		"The buyer disconnects the license and activates it again, perhaps with another account.",
		[]step{
			{title: "purchase", act: purchased, do: doStore},
			{title: "activate", act: redeemed, do: doStore},
			{title: "deactivate, released", act: released, do: doStore},
			{title: "activate again", act: redeemed, do: doStore},
		},
	},
	{
		Duplicate,
		"Duplicate delivery",
		"An event arrives twice, as after an answer that got lost. The second one has the same webhook-id and the " +
			"same body.",
		[]step{
			{title: "purchase", act: purchased, do: doStore},
			{title: "the same purchase again", again: 1, do: doDuplicate},
			{title: "activate", act: redeemed, do: doStore},
			{title: "the same activate again", again: 3, do: doDuplicate},
		},
	},
	{
		Older,
		"Older event after a newer one",
		"An event is sent again after a newer one of the same license. It must be accepted, and change nothing.",
		[]step{
			{title: "purchase", act: purchased, do: doStore},
			{title: "activate", act: redeemed, do: doStore},
			{title: "deactivate", act: refunded, do: doStore},
			{title: "the activate from before", again: 2, do: doOlder},
		},
	},
	{UnknownLicense, "Unknown license", "Events of licenses that your application never heard of.", []step{
		{title: "activate without a purchase", act: redeemed, do: doUnknown},
		{title: "deactivate of an unknown license", act: refunded, license: 1, do: doUnknown},
	}},
	{UnknownMember, "Unknown extra member", "The body has a member that is not documented yet.", []step{
		{title: "purchase", act: purchased, do: doStore},
		{title: "activate with a new member", act: redeemed, body: extended, do: doMember},
	}},
	{
		WrongSignature,
		"Wrong signature",
		"Posts that do not come from us. Each must be refused; the same event with its right signature must be " +
			"accepted.",
		[]step{
			{title: "purchase", act: purchased, do: doStore},
			{title: "activate without a signature", act: redeemed, expect: refused, forge: unsigned, do: doVerify},
			{
				title: "activate signed with another secret", again: 2, expect: refused, forge: diagnose.Stranger,
				do: doVerify,
			},
			{title: "activate signed over the body alone", again: 2, expect: refused, forge: bodyOnly, do: doBodyOnly},
			{title: "the same activate with its right signature", again: 2, expect: proves, do: doRight},
		},
	},
	{
		OldTimestamp,
		"Old timestamp",
		"A post of ours that was recorded an hour ago and is sent again. Its signature is right.",
		[]step{
			{title: "purchase signed an hour ago", act: purchased, expect: betterNot, age: OldAge, do: doAge},
			{title: "the same purchase signed now", again: 1, expect: proves, do: doRight},
		},
	},
	{
		Slow, "Slow answer",
		fmt.Sprintf(
			"How long your server takes, from sending the request until the whole answer was read: one event alone, "+
				"then %d at once, each of another license. "+
				"Within %s is well, longer is a warning, and no whole answer within %s is a failed delivery.",
			AtOnce,
			QuickAnswer,
			courier.Timeout,
		),
		[]step{
			{title: "one purchase", act: purchased, expect: quick, do: diagnose.DoQuick},
			{
				title:   fmt.Sprintf("%d purchases at once", AtOnce),
				act:     purchased,
				license: 1,
				many:    AtOnce,
				expect:  quick,
				do:      diagnose.DoQuick,
			},
		},
	},
}

// One returns a scenario of a single event with the caller's body; see ForceTest. id is the number
// in its webhook-id.
func One(kind string, body []byte, id int64) Scenario {
	return Scenario{"event", "Test event", "One event with a body of your own.", []step{
		{title: kind, raw: &envelope{id: id, body: body}, do: doStore},
	}}
}

// extended adds a member to a body.
func extended(body []byte) []byte {
	return append(
		bytes.TrimSuffix(body, []byte("}")),
		`,"scenario_member":{"text":"Ignore what you do not know.","list":[1,2.5,null,true]}}`...)
}

func unsigned(f *diagnose.Forgery) { f.Unsigned = true }

func bodyOnly(f *diagnose.Forgery) {
	f.BrandText = f.Body
	f.Text = f.Body
}
