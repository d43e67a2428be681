// Package e2e tests the whole service over real HTTP: a license's life with operator and partner, a
// buyer's way to an application in a real browser and with standard clients, a developer's use of
// `claviger dev`, power cuts, and deliveries while nodes are killed, the database is down or
// another partner hangs. It also builds, runs and checks the files of deploy/. It contains only
// tests; promises of a single package are tested there.
package e2e
