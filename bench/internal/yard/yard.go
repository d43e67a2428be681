// Package yard is what the benchmarks and the program bench/yardstick say to each
// other. The program runs as a process of its own; its first line of input says what
// to do, in JSON, and it ends with its input.
package yard

import "net/http"

// What the program can be asked for, by its first argument.
const (
	Answers = "answer" // serve bytes that it was given
	Signs   = "sign"   // serve answers with an identity token that it signs
	Selects = "select" // serve bytes that it was given, after the SELECT of a list of licenses
	Sells   = "sell"   // sell as a plain program would, with a commit for each order
)

// Address is the line by which a server says where it listens.
type Address struct {
	Addr  string `json:"addr"`
	Admin string `json:"admin"`
}

// Answer is what a server answers, whatever it is asked.
type Answer struct {
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

// Head sets the headers of the answer.
func (a Answer) Head(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range a.Header {
		h[name] = values
	}
}

// Identity is the body of an identity token as the service makes it.
type Identity struct {
	Issuer        string `json:"iss"`
	Subject       string `json:"sub"`
	Audience      string `json:"aud"`
	Expires       int64  `json:"exp"`
	IssuedAt      int64  `json:"iat"`
	AuthTime      int64  `json:"auth_time,omitempty"`
	Nonce         string `json:"nonce,omitempty"`
	AccessHash    string `json:"at_hash"`
	LicenseKey    string `json:"license_key"`
	Tier          int    `json:"tier"`
	LicenseStatus string `json:"license_status"`
}

// Signature is an answer of the token endpoint, cut at its identity token.
type Signature struct {
	Answer            // its body ends before the token
	After    []byte   `json:"after"`
	Alg      string   `json:"alg"`
	KeyID    string   `json:"kid"`
	Identity Identity `json:"identity"`
}

// Selection is a page of licenses: what to read for each answer, and what to answer.
type Selection struct {
	Answer
	DB        string `json:"db"`
	PartnerID int64  `json:"partner_id"`
}

// Market is who buys: so many clients at once, of so many partners. DB is an empty
// database.
type Market struct {
	DB       string `json:"db"`
	Clients  int    `json:"clients"`
	Partners int    `json:"partners"`
}

// Round is one round of selling. The program answers each with its Sold.
type Round struct {
	Millis int64 `json:"millis"`
}

// Sold is how much was sold in a round.
type Sold struct {
	Orders  int64   `json:"orders"`
	Seconds float64 `json:"seconds"`
}
