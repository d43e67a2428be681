package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"claviger/internal/area"
	"claviger/internal/oauth"
	"claviger/internal/ui"
)

// revokeKey revokes the key of the path.
func (s *System) revokeKey(r *http.Request, v *Visit) (area.Action, error) {
	list, err := s.Keys.List(r.Context())
	if err != nil {
		return area.Action{}, err
	}
	i := slices.IndexFunc(list, func(k oauth.Key) bool { return k.ID == r.PathValue("kid") })
	if i < 0 {
		return area.Action{}, area.NotFound()
	}
	key := list[i]
	call := s.call("The same by API", http.MethodPost, "/operator/v1/keys/"+key.ID+"/revoke")
	view := ui.Confirm{
		Heading: fmt.Sprintf("Revoke the %s %s key", key.State, key.Alg), Cancel: v.Path(keysPath), Call: &call,
		Says: revocationSays(key), Button: ui.Button{Label: "Revoke it", Busy: "Revoking…", Kind: "danger"},
	}
	return area.Action{Ask: view, Seen: seenKeys(list, key.Alg), Do: func(ctx context.Context) (string, error) {
		did := fmt.Sprintf("The %s %s key is revoked.", key.State, key.Alg)
		if key.State == oauth.Active {
			did += " A new key signs from now on."
		}
		_, err := s.Keys.Revoke(ctx, v.Actor(), key.ID)
		return did + " Ask your partners to fetch the keys again.", err
	}}, nil
}

// revocationSays describes the effects of revoking a key.
func revocationSays(key oauth.Key) []string {
	says := []string{
		fmt.Sprintf(
			"Revoke the key %s if somebody else may know it. Within a second no node publishes it at /openid/jwks, "+
				"and nothing that it signed is accepted here any more.",
			key.ID,
		),
	}
	switch key.State {
	case oauth.Active:
		says = append(
			says,
			"It signs now. The next key was stored beside it and is removed with it. Two new keys are made: one "+
				"signs at once, the other is the next one. "+
				"Applications that cache the keys, for up to an hour, refuse sign-ins until they read them again.",
		)
	case oauth.Next:
		says = append(
			says,
			"It does not sign yet. Every next key of the algorithm is removed with it, and a rotation that waits "+
				"with them. A new next key is made; the key that signs goes on.",
		)
	case oauth.Previous:
		says = append(says, "It does not sign any more. The other keys stay as they are.")
	}
	if key.State != oauth.Next {
		says = append(
			says,
			"People who hold an identity token that it signed, which lasts an hour, are refused where an "+
				"application checks it against the keys as they are then. They sign in again; nothing else of "+
				"theirs changes.",
		)
	}
	return append(
		says,
		"Then ask your partners to fetch the keys again: their libraries may trust this one for an hour. This "+
			"cannot be undone.",
	)
}
