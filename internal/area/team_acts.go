package area

import (
	"context"
	"fmt"
	"net/http"

	"claviger/internal/fault"
	"claviger/internal/ui"
)

// TeamActs builds the acts on a team.
type TeamActs struct {
	URL   string // of the team's page
	Name  string // of the team
	Pages string // that a member sees, such as the console
	Roles []ui.RoleWords
	First string // the role that the form of an invitation suggests

	Lead, Foot string // of the team's page
}

// ChangeRole changes the role of a member. admin is the role that manages the team.
func (t TeamActs) ChangeRole(
	r *http.Request, name, role, admin string, do func(ctx context.Context, role string) error,
) Action {
	view := ui.Confirm{
		Heading: "Change the role of " + name,
		Form:    ui.Form{Fields: []ui.Field{t.roleField(role)}},
		Says: []string{
			fmt.Sprintf("%s has the role %s. Another one holds from the next page that they open.", name, role),
		},
		Button: ui.Button{Label: "Change the role", Busy: "Changing…"}, Cancel: t.URL,
	}
	for _, one := range t.Roles {
		view.Says = append(view.Says, one.Says)
	}
	if role == admin {
		view.Says = append(
			view.Says, "Who is no longer an admin also loses the invitations that they sent and nobody has accepted.",
		)
	}
	return Action{Ask: view, Do: func(ctx context.Context) (string, error) {
		role := ui.FormText(r, "role")
		return fmt.Sprintf("%s has the role %s now.", name, role), do(ctx, role)
	}}
}

// Remove removes a member. says has the effects.
func (t TeamActs) Remove(name string, says []string, do func(ctx context.Context) error) Action {
	return Action{
		Ask: ui.Confirm{
			Heading: fmt.Sprintf("Remove %s from the team", name),
			Says:    says,
			Button:  ui.Button{Label: "Remove from the team", Busy: "Removing…", Kind: "danger"}, Cancel: t.URL,
		},
		Do: func(ctx context.Context) (string, error) { return name + " is no longer in the team.", do(ctx) },
	}
}

// OrLeave sends visitors who would remove themselves to the page that explains the consequences.
func (c Action) OrLeave(self bool) Action {
	if self {
		c.Seen = Seen{}
		c.To = c.Ask.Cancel + "/leave"
		c.Do = func(context.Context) (string, error) { return "", nil }
	}
	return c
}

// Leave removes the visitor.
func (t TeamActs) Leave(r *http.Request, do func(ctx context.Context) error) Action {
	return Action{
		Ask: ui.Confirm{
			Heading: "Leave the team of " + t.Name,
			Says: []string{
				"You can no longer open " + t.Pages + ", and only an admin can invite you again. Invitations that " +
					"you sent and nobody has accepted end.",
			},
			Form: ui.Form{Fields: []ui.Field{
				{Name: "leave", Label: "I want to leave this team", Type: "checkbox", Required: true},
			}},
			Button: ui.Button{Label: "Leave the team", Busy: "Leaving…", Kind: "danger"}, Cancel: t.URL,
		},
		Do: func(ctx context.Context) (string, error) {
			if ui.FormText(r, "leave") == "" {
				return "", fault.New(
					fault.Unprocessable, CodeIncompleteForm, "Tick the box to leave the team. Nothing was changed.",
				).On("leave")
			}
			return "You left the team of " + t.Name + ".", do(ctx)
		},
		To: "/account",
	}
}

// Withdraw withdraws the invitation of an address.
func (t TeamActs) Withdraw(email string, do func(ctx context.Context) error) Action {
	return Action{
		Ask: ui.Confirm{
			Heading: "Withdraw the invitation",
			Says: []string{
				fmt.Sprintf(
					"The link that was mailed to %s stops working at once. You can invite them again later.", email,
				),
			},
			Button: ui.Button{Label: "Withdraw it", Busy: "Withdrawing…", Kind: "danger"}, Cancel: t.URL,
		},
		Do: func(ctx context.Context) (string, error) {
			return "The invitation of " + email + " is withdrawn.", do(ctx)
		},
	}
}
