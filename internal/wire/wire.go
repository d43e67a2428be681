// Package wire is what every JSON door shares: reading a body (JSON or form),
// the one map from fault to HTTP status and the error body, the route table,
// authentication as a step no route can forget, rate limits per key, and the
// way values are written (compact JSON, timestamps, list envelopes).
//
// It owns no resource and knows no room: what a body means, who may call and
// what is answered is the door's business. Listeners, the request line and
// metrics are package httpd's.
//
// A door is a list of routes:
//
//	door := &wire.Door[partner.Partner]{Authenticate: a.byKey, Name: name, Limit: limits}
//	routes := []wire.Route{
//		door.Route("GET", "/v2/profile", a.readProfile),
//		wire.Public("GET", "/v2/openapi.json", a.document),
//	}
//	handler := wire.NewMux(routes...)
//
// and a handler is three paragraphs (decode, ask the room, answer):
//
//	func (a *API) addContact(w http.ResponseWriter, r *http.Request, p partner.Partner) error {
//		var in struct {
//			Email string `json:"email"`
//			Name  string `json:"name"`
//		}
//		if err := wire.Decode(w, r, &in); err != nil {
//			return err
//		}
//		c, err := a.Profiles.AddContact(r.Context(), actor(p), p.ID, in.Name, in.Email)
//		if err != nil {
//			return err
//		}
//		return wire.JSON(w, http.StatusCreated, contactOf(c))
//	}
package wire
