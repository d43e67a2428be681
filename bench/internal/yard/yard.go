// Package yard is the protocol between the benchmarks and the program bench/yardstick. The program
// runs as a separate process. Its first line of input is its task, in JSON, and it ends with its
// input.
package yard

import "net/http"

// Tasks of the program, its first argument.
const (
	Answers = "answer" // serve given bytes
	Signs   = "sign"   // serve answers with a newly signed identity token
	Selects = "select" // serve given bytes, after the SELECT of a list of licenses
	Sells   = "sell"   // sell as a plain program would, with a commit for each order
)

// Address is the line with a server's address.
type Address struct {
	Addr  string `json:"addr"`
	Admin string `json:"admin"`
	Pprof string `json:"pprof,omitempty"`
}

// Answer is a server's constant answer.
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

// Selection is a page of licenses: the query and the body for each answer.
type Selection struct {
	Answer
	DB        string `json:"db"`
	PartnerID int64  `json:"partner_id"`
}

// Market describes the buyers: the number of concurrent clients and of partners. DB is an empty
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

// Sold is the number of sales in a round.
type Sold struct {
	Orders  int64   `json:"orders"`
	Seconds float64 `json:"seconds"`
}
