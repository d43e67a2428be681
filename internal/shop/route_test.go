package shop_test

import (
	"strings"
	"testing"

	"claviger/internal/visitor/pagetest"
)

// TestPathsOfLicensesAreSecret: only paths with the redemption id of a license are kept out of the
// log, because that of an unclaimed one lets its reader claim it.
func TestPathsOfLicensesAreSecret(t *testing.T) {
	secret := map[string]bool{
		"/licensing/{id}/redeem": true, "/licensing/{id}/consent": true, "/licensing/{id}/change_plan": true,
		"/licenses/{id}": true, "/licenses/{id}/release": true, "/licenses/{id}/refund": true,
	}
	h := pagetest.New(t)
	seen := map[string]bool{}
	for _, route := range h.Routes() {
		if route.SecretPath != secret[route.Path] {
			t.Errorf("%s %s: SecretPath is %t", route.Method, route.Path, route.SecretPath)
		}
		if strings.HasPrefix(route.Path, "/licens") && strings.Contains(route.Path, "{") && !secret[route.Path] {
			t.Errorf("%s is new: does its path tell a secret?", route.Path)
		}
		seen[route.Path] = true
	}
	for path := range secret {
		if !seen[path] {
			t.Errorf("there is no route %s", path)
		}
	}
}
