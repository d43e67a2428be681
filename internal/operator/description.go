package operator

import (
	_ "embed"
	"net/http"

	"claviger/internal/wire"
)

// document is openapi.yaml as JSON; a test keeps the two equal, so that the
// product needs no YAML parser.
//
//go:embed openapi.json
var document []byte

// Description returns the description of this API: OpenAPI, as JSON.
func Description() []byte { return document }

// description answers the description of this API. Anybody may read it: it says
// nothing that the program's source does not.
func description(w http.ResponseWriter, _ *http.Request) error {
	return wire.Raw(w, http.StatusOK, document)
}
