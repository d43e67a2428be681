// Package diagnose finds out why an endpoint does not accept webhooks. It explains answers and
// missing ones, lists common mistakes, and forges the requests that reveal them. Its Runner runs the
// steps of all that tries an endpoint: the check of a URL, scenarios, and the checks of the command
// line.
//
// It has no database and owns no table. Package courier sends its requests. Package verify, below it,
// examines a webhook that a person pasted.
package diagnose

// TestSentence is the reason in the events of checks and scenarios. It contains characters that
// change when a body is parsed and written again, so that a server that does this fails the check.
const TestSentence = "This is a test & changes nothing; it has <characters> that are often escaped: / “é” 東."

// TestPlan is the plan name in such events if no plan of the partner is known.
const TestPlan = "Test plan"
