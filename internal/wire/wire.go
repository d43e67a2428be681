// Package wire is what every JSON API shares: reading a body (JSON or form), the map
// from faults to HTTP statuses and the error body, the route table, authentication as a
// step that no route can leave out, rate limits per key, and how values are written
// (compact JSON, timestamps, list envelopes).
//
// It owns no resource and knows no domain package: each API decides what a body means,
// who may call and what is answered. Listeners, the log line of a request and metrics
// are in package httpd.
//
// An API is a list of routes:
//
//	auth := &wire.AuthRoutes[partner.Partner]{Authenticate: a.byKey, Name: name, Limit: limits}
//	routes := []wire.Route{
//		auth.Route("GET", "/v2/profile", a.readProfile),
//		wire.Public("GET", "/v2/openapi.json", a.document),
//	}
//	handler := wire.NewMux(routes...)
//
// and a handler is three paragraphs (decode, call the domain package, answer):
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
