package shop

import (
	"cmp"
	"net/http"
	"time"

	"claviger/internal/event"
	"claviger/internal/license"
)

// stage is the state of a license as its user sees it.
type stage string

// Stages. The pages have a text for each.
const (
	ready     stage = "ready"     // bought or received, and not activated
	connected stage = "connected" // active
	released  stage = "released"  // disconnected
	refunded  stage = "refunded"
	held      stage = "held"
	notReady  stage = "unready" // the application has no redirect URL yet
	paused    stage = "paused"  // the marketplace has paused the application
)

// canRedeem reports whether the license can be redeemed in this stage.
func (s stage) canRedeem() bool { return s == ready || s == connected || s == released }

func stageOf(l license.License, standing license.Standing) stage {
	switch {
	case l.Ended:
		return refunded
	case l.Held != 0:
		return held
	case l.Released && standing.Given, l.Status != event.Active && !l.Released:
		return ready
	case l.Released:
		return released
	default:
		return connected
	}
}

// state describes a stage: its name, its start, the reason, and the owner's next step.
type state struct {
	Name  string // for the template "badge"
	Since time.Time
	Why   string
	Do    string
}

// stateOf describes the stage of a license. A hold mentions a payment only if that is its cause.
func stateOf(o ownedView, standing license.Standing, brand string) state {
	l := o.License
	app := o.Partner.Name
	switch o.Stage {
	case connected:
		return state{"active", l.UpdatedAt, "Your account in " + app + " uses it.", ""}
	case released:
		return state{
			"disconnected",
			l.UpdatedAt,
			"No account in " + app + " uses it. You keep the license.",
			"Activate it to use it again.",
		}
	case refunded:
		return state{
			"refunded",
			standing.EndedAt,
			"The purchase was refunded, so the license no longer works.",
			"You can buy a new license at any time.",
		}
	case held:
		if l.Held == license.HoldChargeback {
			return state{
				"on_hold", standing.HeldAt, "The payment for it is disputed, so the license does not work for now.",
				"If you did not mean to dispute it, tell your bank or card company, and contact " + brand + ".",
			}
		}
		return state{
			"on_hold",
			standing.HeldAt,
			brand + " put it on hold, so it does not work for now.",
			"Contact " + brand + " to learn why. When the hold ends, the license works again.",
		}
	default:
		return state{
			"ready_to_activate",
			l.UpdatedAt,
			"It is yours, and no account in " + app + " uses it yet.",
			"Activate it to connect it to your account in " + app + ".",
		}
	}
}

// addStates adds the states of the licenses to the views.
func (s *Shop) addStates(r *http.Request, views []ownedView) error {
	list := make([]license.License, len(views))
	for i, o := range views {
		list[i] = o.License
	}
	all, err := s.Licenses.Standings(r.Context(), list)
	if err != nil {
		return err
	}
	brand := cmp.Or(s.Site.Pages.Brand, "Claviger")
	for i := range views {
		standing := all[views[i].License.ID]
		views[i].Stage = stageOf(views[i].License, standing)
		views[i].State = stateOf(views[i], standing, brand)
	}
	return nil
}
