// Package wire has the shared parts of the JSON APIs: decoding of bodies (JSON or form), the
// mapping of faults to HTTP statuses and error bodies, the route table, authentication that no
// route can omit, rate limits per key, and the encoding of values (compact JSON, timestamps, list
// envelopes).
//
// It owns no resource and knows no domain package: each API decides about the meaning of bodies,
// permissions and answers. Listeners, the log line of a request and metrics are in package httpd.
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
//		if _, err := (wire.Decoder{}).Decode(w, r, &in); err != nil {
//			return err
//		}
//		c, err := a.Profiles.AddContact(r.Context(), actor(p), p.ID, in.Name, in.Email)
//		if err != nil {
//			return err
//		}
//		return wire.JSON(w, http.StatusCreated, contactOf(c))
//	}
package wire
