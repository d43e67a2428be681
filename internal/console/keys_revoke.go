package console

import (
	"fmt"
	"net/http"
	"slices"

	"claviger/internal/area"
	"claviger/internal/oauth"
	"claviger/internal/ui"
)

// keyRevocation reads the key of a path and makes the page that asks, and what it showed.
func (s *System) keyRevocation(r *http.Request, v *Visit) (ui.Confirm, area.Seen, oauth.Key, error) {
	list, err := s.Keys.List(r.Context())
	if err != nil {
		return ui.Confirm{}, area.Seen{}, oauth.Key{}, err
	}
	i := slices.IndexFunc(list, func(k oauth.Key) bool { return k.ID == r.PathValue("kid") })
	if i < 0 {
		return ui.Confirm{}, area.Seen{}, oauth.Key{}, area.NotFound()
	}
	key := list[i]
	seen := seenKeys(list, key.Alg)
	call := s.call("The same by API", http.MethodPost, "/operator/v1/keys/"+key.ID+"/revoke")
	return ui.Confirm{
		Heading: fmt.Sprintf("Revoke the %s %s key", key.State, key.Alg), Action: v.Path(keysPath+"/%s/revoke", key.ID), Cancel: v.Path(keysPath), Call: &call,
		Hidden: []ui.Param{seen.Param()}, Says: revocationSays(key), Button: ui.Button{Label: "Revoke it", Busy: "Revoking…", Kind: "danger"},
	}, seen, key, nil
}

// revocationSays is what happens when a key is revoked.
func revocationSays(key oauth.Key) []string {
	says := []string{
		fmt.Sprintf("Revoke the key %s if somebody else may know it. Within a second no node publishes it at /openid/jwks, and nothing that it signed is accepted here any more.", key.ID),
	}
	switch key.State {
	case oauth.Active:
		says = append(says, "It signs now. The next key was stored beside it and is removed with it. Two new keys are made: one signs at once, the other is the next one. "+
			"Applications that cache the keys, for up to an hour, refuse sign-ins until they read them again.")
	case oauth.Next:
		says = append(says, "It does not sign yet. Every next key of the algorithm is removed with it, and a rotation that waits with them. A new next key is made; the key that signs goes on.")
	case oauth.Previous:
		says = append(says, "It does not sign any more. The other keys stay as they are.")
	}
	if key.State != oauth.Next {
		says = append(says, "People who hold an identity token that it signed, which lasts an hour, are refused where an application checks it against the keys as they are then. They sign in again; nothing else of theirs changes.")
	}
	return append(says, "Then ask your partners to fetch the keys again: their libraries may trust this one for an hour. This cannot be undone.")
}

// askRevokeKey asks whether a key is revoked.
func (s *System) askRevokeKey(w http.ResponseWriter, r *http.Request, v *Visit) error {
	view, _, _, err := s.keyRevocation(r, v)
	if err != nil {
		return err
	}
	return s.area.Confirm(w, r, v, http.StatusOK, view)
}

// revokeKey revokes a key.
func (s *System) revokeKey(w http.ResponseWriter, r *http.Request, v *Visit) error {
	if err := ui.ReadForm(r); err != nil {
		return err
	}
	view, seen, key, err := s.keyRevocation(r, v)
	if err != nil {
		return err
	}
	if err := seen.Unchanged(r); err != nil {
		return s.area.Refuse(w, r, v, view, err)
	}
	if _, err := s.Keys.Revoke(r.Context(), v.Actor(), key.ID); err != nil {
		return s.area.Refuse(w, r, v, view, err)
	}
	did := fmt.Sprintf("The %s %s key is revoked.", key.State, key.Alg)
	if key.State == oauth.Active {
		did += " A new key signs from now on."
	}
	return s.area.Done(w, r, v, keysPath, did+" Ask your partners to fetch the keys again.")
}
