// Package claviger is the root of the module and has no code: the service is under internal, the
// command under cmd/claviger. Its tests check the whole repository: the import plan
// (imports_test.go), sizes and owners of tables (sources_test.go), words (words_test.go), and the
// documents (docs_test.go).
package claviger
