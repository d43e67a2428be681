// Package claviger is the client of a partner's application: it reads licenses and their events,
// and verifies webhooks. Package operator beside it is the client of the marketplace.
//
//	client, err := claviger.NewClient(claviger.Config{URL: "https://licenses.example.com", Secret: key})
//	for license, err := range client.Licenses(ctx, claviger.LicenseFilter{Status: claviger.StatusActive}) {
//		…
//	}
//
// The types are generated from the API's description; the methods are written by hand. Requests
// that are safe to repeat are repeated after 429 and 503, according to Retry-After.
package claviger

//go:generate go run ./internal/gen -in ../../internal/api/openapi.json -out types.go -package claviger
//go:generate go run ./internal/gen -in ../../internal/operator/openapi.json -shared ../../internal/api/openapi.json -out operator/types.go -package operator
//go:generate go run ./internal/gen -in ../../internal/api/openapi.json -out ../typescript/src/partner.ts
//go:generate go run ./internal/gen -in ../../internal/oauth/openapi.json -out ../typescript/src/oauth.ts
//go:generate go run ./internal/gen -in ../../internal/operator/openapi.json -shared ../../internal/api/openapi.json -out ../typescript/src/operator.ts
