package ui

// Pages that every package of pages has.
const (
	pageFailure    = "failure"
	PageConfirm    = "confirm"    // shows a Confirm
	PageSecrets    = "secrets"    // shows Secrets
	PageInvitation = "invitation" // shows an Invitation
	PageTeam       = "team"       // shows a Team
)

// Confirm is a page that describes an action and asks for confirmation.
type Confirm struct {
	Form
	Heading string
	Says    []string // consequences, in paragraphs
	Action  string   // target of the form; "": not possible
	Hidden  []Param
	Button  Button
	Cancel  string // back, without the action
	Back    string // label of the link back; "": Cancel
	Call    *Curl
}

// Secrets is the answer to a form that created secrets. It is the only page that shows them.
type Secrets struct {
	Heading  string
	Repeated bool // the form was sent before: nothing to show
	Secrets  []Key
	Says     []string // next steps
	Back     string
}

// Invitation shows a team invitation to anyone with its link.
type Invitation struct {
	Problem  string // reason that it cannot be accepted
	Team     string
	Role     string
	Says     string // permissions of the role
	Email    string // of the invited person
	SignedIn bool
	Mine     bool // for the address of the signed-in user
	Again    bool // the user must sign in again to accept
	Person   string
	Token    string
	Action   string // URL that accepts it
	SignIn   string
	SignUp   string
}

// Team lists the members of a team and its pending invitations.
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

// RoleWords describes the permissions of a role.
type RoleWords struct{ Role, Says string }
