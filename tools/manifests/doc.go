// Package manifests checks the manifests of deploy/ against the types of the programs that read
// them: Kubernetes, the operator of Prometheus, and Compose. It contains only tests, in this module,
// so that none of these types is linked into the service.
package manifests
