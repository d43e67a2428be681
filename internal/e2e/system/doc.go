// Package system tests what needs several builds or nodes, by make system-test. go test ./... runs
// none of it.
package system
