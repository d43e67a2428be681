package visitor

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"claviger/internal/account"
	"claviger/internal/ui"
)

// Paths of the site's areas. Each belongs to a package of pages.
const (
	LicensesPath = "/licenses"
	PortalPath   = "/portal"
	ConsolePath  = "/console"
	accountPath  = "/account"
)

// Home returns a user's page after signing in: the console for operators; the portal of their
// partner for members or, with several partners, the chooser; the licenses for buyers. Users with
// several roles switch by the menu.
func (s *Site) Home(ctx context.Context, u account.User) (string, error) {
	if u.Operator() {
		return ConsolePath + "/", nil
	}
	list, err := s.Partners.Accesses(ctx, u.ID, 2)
	switch {
	case err != nil:
		return "", err
	case len(list) == 1:
		return PortalPath + "/" + strconv.FormatInt(list[0].Partner.ID, 10), nil
	case len(list) > 1:
		return PortalPath + "/", nil
	}
	return LicensesPath, nil
}

// Start returns the first page of a page's area, for ui.Pages; "" if the page belongs to none, or
// is itself the first. It is the same for all partners, so it reveals nothing about them.
func Start(r *http.Request) string {
	for _, area := range []string{ConsolePath + "/", PortalPath + "/"} {
		if strings.HasPrefix(r.URL.Path, area) && r.URL.Path != area {
			return area
		}
	}
	return ""
}

// menu lists the areas of a visitor, to switch between several roles.
func (s *Site) menu(ctx context.Context, path string, v *Visitor) ([]ui.Item, error) {
	if !v.SignedIn() {
		return []ui.Item{{Label: "Sign in", URL: SignInPath, Current: path == SignInPath}}, nil
	}
	var items []ui.Item
	add := func(label, url, prefix string) {
		items = append(items, ui.Item{Label: label, URL: url, Current: strings.HasPrefix(path, prefix)})
	}
	serves := v.Serves
	if !serves {
		var err error
		if serves, err = s.Partners.Serves(ctx, v.User.ID); err != nil {
			return nil, err
		}
	}
	if v.User.Operator() {
		add("Console", ConsolePath+"/", ConsolePath)
	}
	if serves {
		add("Partner portal", PortalPath+"/", PortalPath)
	}
	add("My licenses", LicensesPath, "/licens")
	add("Account", accountPath, accountPath)
	return items, nil
}
