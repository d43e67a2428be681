package webhook

import (
	"context"
	"fmt"

	"claviger/internal/partner"
	"claviger/internal/profile"
	"claviger/internal/sqldb"
)

// EndpointState is the state of a partner's endpoint.
type EndpointState string

// The states of endpoints.
const (
	EndpointHealthy EndpointState = "healthy"
	EndpointFailing EndpointState = "failing"
	EndpointParked  EndpointState = "parked"
	EndpointPaused  EndpointState = "paused" // the partner is paused
	EndpointNoURL   EndpointState = "no_url"
)

// EndpointStates lists all states, those that need attention first.
var EndpointStates = []EndpointState{EndpointParked, EndpointFailing, EndpointPaused, EndpointNoURL, EndpointHealthy}

// State returns the state of the endpoint of a partner with this profile.
func (e EndpointHealth) State(p partner.Partner, f profile.Profile) EndpointState {
	switch {
	case p.Paused():
		return EndpointPaused
	case f.WebhookURL == "":
		return EndpointNoURL
	case !e.ParkedAt.IsZero():
		return EndpointParked
	case !e.FailingSince.IsZero():
		return EndpointFailing
	}
	return EndpointHealthy
}

// EndpointsHealth returns the health of several partners' endpoints and the number of waiting
// deliveries, counted up to atMost: a list of partners must not read every waiting row.
func (o *Outbox) EndpointsHealth(
	ctx context.Context, partnerIDs []int64, atMost int64,
) (map[int64]EndpointHealth, error) {
	all := make(map[int64]EndpointHealth, len(partnerIDs))
	err := o.DB.Read(ctx, func(tx *sqldb.Tx) error {
		waiting := make([]*sqldb.Result[int64], len(partnerIDs))
		for i, id := range partnerIDs {
			waiting[i] = queueWaiting(tx, id, atMost)
		}
		rows, err := sqldb.All(ctx, tx, scanHealth, selectHealth+`= ANY($1)`, partnerIDs)
		if err != nil {
			return err
		}
		stored := make(map[int64]Health, len(rows))
		for _, h := range rows {
			stored[h.partnerID] = h
		}
		for i, id := range partnerIDs {
			n, err := waiting[i].One(ctx)
			if err != nil {
				return err
			}
			all[id] = stored[id].told(n, atMost)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read how endpoints do: %w", err)
	}
	return all, nil
}

// queueWaiting queues the count of a partner's waiting deliveries. The count stops at atMost+1.
func queueWaiting(tx *sqldb.Tx, partnerID, atMost int64) *sqldb.Result[int64] {
	return sqldb.QueueQuery(tx, sqldb.Value[int64], `SELECT count(*) FROM (
		SELECT 1 FROM outbox WHERE partner_id = $1 AND `+IsPending+` LIMIT $2) AS waiting`, partnerID, atMost+1)
}

// told converts the row and the count for operators.
func (h Health) told(waiting, atMost int64) EndpointHealth {
	return EndpointHealth{
		FailingSince: h.failingSince, ParkedAt: h.parkedAt, ProbeAt: h.probeAt, LastSuccessAt: h.takenAt,
		LastErrorAt: h.errorAt, LastError: h.error, Waiting: min(waiting, atMost), More: waiting > atMost,
	}
}

// inStateBatch is the number of partners that one read of InState covers.
const inStateBatch = 500

// InState returns the partners with an endpoint in this state.
func (o *Outbox) InState(
	ctx context.Context, partners *partner.Store, profiles *profile.Store, state EndpointState,
) (map[int64]bool, error) {
	found := make(map[int64]bool)
	for after := int64(0); ; {
		list, err := partners.ByName(ctx, after, inStateBatch)
		if err != nil {
			return nil, err
		}
		urls, err := profiles.Of(ctx, list)
		if err != nil {
			return nil, err
		}
		ids := make([]int64, len(list))
		for i, p := range list {
			ids[i] = p.ID
			after = p.ID
		}
		health, err := o.EndpointsHealth(ctx, ids, 1)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			if health[p.ID].State(p, urls[p.ID]) == state {
				found[p.ID] = true
			}
		}
		if len(list) < inStateBatch {
			return found, nil
		}
	}
}
