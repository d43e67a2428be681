package ui

// The pages that every package of pages has.
const (
	pageFailure    = "failure"
	PageConfirm    = "confirm"    // shows a Confirm
	PageSecrets    = "secrets"    // shows Secrets
	PageInvitation = "invitation" // shows an Invitation
	PageTeam       = "team"       // shows a Team
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
	Back    string // what the link back is called; "": Cancel
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

// Invitation shows an invitation to a team to whoever has its link.
type Invitation struct {
	Problem  string // it cannot be accepted
	Team     string
	Role     string
	Says     string // what the role may do
	Email    string // whom it is for
	SignedIn bool
	Mine     bool // it is for the address of who is signed in
	Person   string
	Token    string
	Action   string // where it is accepted
	SignIn   string
	SignUp   string
}

// Team lists the people of a team, and those who are invited to it.
type Team struct {
	Lead        string
	Foot        string
	Members     Table
	Invitations Table
	Form        Form // of an invitation: email and role
	May         bool // the person may change the team
	Roles       []RoleWords
	InviteURL   string
	LeaveURL    string
}

// RoleWords says what a role may do.
type RoleWords struct{ Role, Says string }
