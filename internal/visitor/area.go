package visitor

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"claviger/internal/account"
	"claviger/internal/ui"
)

// Where the areas of the site begin. Each belongs to a package of pages.
const (
	LicensesPath = "/licenses"
	PortalPath   = "/portal"
	ConsolePath  = "/console"
	accountPath  = "/account"
)

// Home returns the page where a user belongs after signing in: operators in the console;
// members in the portal of their partner or, if they serve several, at the chooser;
// buyers at their licenses. Who is several things uses the menu.
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

// Start returns where the area of a page begins, for ui.Pages; "" if the page belongs to
// none, or is the beginning itself. All partners have the same, which tells nothing of them.
func Start(r *http.Request) string {
	for _, area := range []string{ConsolePath + "/", PortalPath + "/"} {
		if strings.HasPrefix(r.URL.Path, area) && r.URL.Path != area {
			return area
		}
	}
	return ""
}

// menu lists the areas that a visitor can go to: who is several things switches there.
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
