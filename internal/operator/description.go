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

// Description returns the OpenAPI description of this API as JSON.
func Description() []byte { return document }

// description answers with the description of this API. It needs no token: it says nothing that the
// program's source does not.
func description(w http.ResponseWriter, _ *http.Request) error {
	return wire.Raw(w, http.StatusOK, document)
}
