package ui

// The pages that every package of pages has.
const (
	pageFailure = "failure"
	PageConfirm = "confirm" // shows a Confirm
	PageSecrets = "secrets" // shows Secrets
)

// Confirm is a page that says what an act will do and asks for it.
type Confirm struct {
	Form
	Heading string
	Says    []string // what will happen, in paragraphs
	Action  string   // where the form is sent; "": it cannot be done
	Hidden  []Param
	Button  Button
	Cancel  string // back, without doing it
	Call    *Curl
}

// Secrets is the answer to a form that made secrets. It is the only page that shows them.
type Secrets struct {
	Heading  string
	Repeated bool // the form was sent before: there is nothing to show
	Secrets  []Key
	Says     []string // what to do now
	Back     string
}
