// Package claviger is the root of the module and holds no code: the service is
// under internal, the command under cmd/claviger. Its tests keep the whole house
// in order: the import plan (imports_test.go), sizes and table owners
// (sources_test.go), and what the documents promise (docs_test.go).
package claviger
