package area

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"claviger/internal/ui"
)

// Member is a member of a team, as its page shows them.
type Member struct {
	UserID      int64
	Name, Email string // "" of a deleted account
	Role        string
	Since       time.Time
	You         bool // it is the visitor
}

// Pending is an open invitation, as the page of the team shows it.
type Pending struct {
	ID                  int64
	Email, Role         string
	CreatedAt, ExpireAt time.Time
}

// Called returns the name of a member.
func (m Member) Called() string { return cmp.Or(m.Name, m.Email, "Deleted account") }

// memberTable lists the members of a team. path returns the URL of a page; may means that the
// person may change the team.
func memberTable(members []Member, may bool, path func(path string, values ...any) string) ui.Table {
	t := ui.Table{ID: "members", Caption: "Members", Cards: true, Columns: []ui.Column{
		{Label: "Name"}, {Label: "Role"}, {Label: "Since", Named: true},
	}}
	for _, m := range members {
		name := ui.Cell{Text: m.Called()}
		if m.Name != "" {
			name.Note = m.Email
		}
		if m.You {
			name.Text += " (you)"
		}
		if may {
			at := path("/team/members/%d", m.UserID)
			name.Acts = ui.Links(ui.RowLink{Label: "Change role", Of: "of " + name.Text, URL: at + "/role"})
			if !m.You {
				remove := ui.RowLink{Label: "Remove", Of: name.Text, URL: at + "/remove"}
				name.Acts.Links = append(name.Acts.Links, remove)
			}
		}
		t.Rows = append(t.Rows, ui.Row{
			ID: fmt.Sprintf("member-%d", m.UserID), Cells: []ui.Cell{name, {Text: roleName(m.Role)}, {At: m.Since}},
		})
	}
	return t
}

// pendingTable lists the invitations of a team.
func pendingTable(list []Pending, may bool, now time.Time, path func(path string, values ...any) string) ui.Table {
	t := ui.Table{ID: "invitations", Caption: "Invitations", Cards: true, Columns: []ui.Column{
		{Label: "Email address"}, {Label: "Role"}, {Label: "Sent", Named: true}, {Label: "State"},
	}}
	for _, n := range list {
		state := ui.Cell{Status: "pending", Note: "Works for another " + Span(n.ExpireAt.Sub(now)) + "."}
		if !n.ExpireAt.After(now) {
			state = ui.Cell{Status: "expired"}
		}
		address := ui.Cell{Text: n.Email}
		if may {
			address.Acts = ui.Links(ui.RowLink{
				Label: "Withdraw", Of: "the invitation of " + n.Email, URL: path("/team/invitations/%d/withdraw", n.ID),
			})
		}
		t.Rows = append(t.Rows, ui.Row{
			ID:    fmt.Sprintf("invitation-%d", n.ID),
			Cells: []ui.Cell{address, {Text: roleName(n.Role)}, {At: n.CreatedAt}, state},
		})
	}
	return t
}

// inviteForm returns the form of an invitation.
func (t TeamActs) inviteForm(email, role string) ui.Form {
	return ui.Form{Fields: []ui.Field{
		{Name: "email", Label: "Email address", Type: "email", Value: email, Required: true, Autocomplete: "off"},
		t.roleField(role),
	}}
}

// roleField returns the field that selects a role.
func (t TeamActs) roleField(role string) ui.Field {
	f := ui.Field{Name: "role", Label: "Role", Type: "select", Value: role, Required: true}
	for _, one := range t.Roles {
		f.Options = append(f.Options, ui.Option{Value: one.Role, Label: roleName(one.Role)})
	}
	return f
}

// roleName returns a capitalized role.
func roleName(role string) string {
	if role == "" {
		return ""
	}
	return strings.ToUpper(role[:1]) + role[1:]
}

// Span describes a duration roughly.
func Span(d time.Duration) string {
	count := func(n int64, unit string) string {
		if n == 1 {
			return "1 " + unit
		}
		return fmt.Sprintf("%d %ss", n, unit)
	}
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < time.Hour:
		return count(int64(d.Round(time.Minute)/time.Minute), "minute")
	case d < 48*time.Hour:
		return count(int64(d.Round(time.Hour)/time.Hour), "hour")
	default:
		return count(int64(d.Round(24*time.Hour)/(24*time.Hour)), "day")
	}
}
