package main

import (
	"cmp"
	"errors"
	"iter"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	claviger "claviger/sdk/go"
	"claviger/sdk/go/operator"
)

// Variables of commands that call a service. Flags override them; serve and dev ignore them.
const (
	urlVariable    = "CLAVIGER_URL"
	apiKeyVariable = "CLAVIGER_API_KEY"
	tokenVariable  = "CLAVIGER_OPERATOR_TOKEN" //nolint:gosec // its name, not a token
	secretVariable = "CLAVIGER_WEBHOOK_SECRET" //nolint:gosec // likewise
	clientVariable = "CLAVIGER_CLIENT_SECRET"  //nolint:gosec // likewise
)

// remote is the service that a command calls, from the command line and the environment.
type remote struct {
	url, apiKey, token string
	asJSON             bool
	http               *http.Client // nil: one with a timeout of a minute
}

// remoteFlags adds the flags for the service's address and credentials.
func remoteFlags(cmd *cobra.Command) *remote {
	r := operatorFlags(cmd)
	secretVar(cmd, &r.apiKey, "api-key", apiKeyVariable, "API key of a partner, in place of an operator token")
	return r
}

// devMails is the path of the emails in claviger dev; nothing else has it.
const devMails = "/dev/mail/"

// asker is the client of a partner or of an operator: the other one is nil.
type asker struct {
	partner  *claviger.Client
	operator *operator.Client
}

// connect creates the client. A flag overrides a variable. Of the variables the API key overrides the
// token, because it has fewer rights.
func (r *remote) connect() (asker, error) {
	url := cmp.Or(r.url, os.Getenv(urlVariable))
	if url == "" {
		return asker{}, usage("which service? Name it with --url or %s, such as http://localhost:8080", urlVariable)
	}
	if r.apiKey != "" && r.token != "" {
		return asker{}, usage("--api-key and --token are two ways to ask; give one of them")
	}
	key := r.apiKey
	token := r.token
	if key == "" && token == "" {
		if key = os.Getenv(apiKeyVariable); key == "" {
			token = os.Getenv(tokenVariable)
		}
	}
	var a asker
	var err error
	switch {
	case key != "":
		a.partner, err = claviger.NewClient(claviger.Config{URL: url, Secret: key, HTTP: r.http})
	case token != "":
		a.operator, err = operator.NewClient(operator.Config{URL: url, Secret: token, HTTP: r.http})
	default:
		return asker{}, usage(
			"who asks? Give a partner's API key with --api-key-file or %s, or an operator token with --token-file "+
				"or %s",
			apiKeyVariable,
			tokenVariable,
		)
	}
	if err != nil {
		return asker{}, &failure{exitUsage, err}
	}
	return a, nil
}

// answered gives an error of a client its exit code: refused by the service, or not reached. An
// existing code stays.
func answered(err error) error {
	if _, ok := errors.AsType[*failure](err); ok || err == nil {
		return err
	}
	if refused, ok := errors.AsType[*claviger.Error](err); ok {
		return &failure{exitRefused, refused}
	}
	return &failure{exitUnreachable, err}
}

// first reads at most limit items of a list.
func first[T any](list iter.Seq2[T, error], limit int) ([]T, error) {
	var found []T
	for item, err := range list {
		if err != nil {
			return nil, answered(err)
		}
		if found = append(found, item); len(found) == limit {
			break
		}
	}
	return found, nil
}

// pageSize returns the page size for limit items.
func pageSize(limit int) int { return min(limit, 100) }

// operatorFlags is remoteFlags for commands that need an operator token.
func operatorFlags(cmd *cobra.Command) *remote {
	r := &remote{}
	cmd.Flags().StringVar(&r.url, "url", "", "URL of the service; else "+urlVariable)
	secretVar(cmd, &r.token, "token", tokenVariable, "Operator token")
	cmd.Flags().BoolVar(&r.asJSON, "json", false, "Print JSON")
	return r
}

// openOperator creates the client of an operator.
func (r *remote) openOperator() (*operator.Client, error) {
	url := cmp.Or(r.url, os.Getenv(urlVariable))
	token := cmp.Or(r.token, os.Getenv(tokenVariable))
	switch {
	case url == "":
		return nil, usage("which service? Name it with --url or %s, such as http://localhost:8080", urlVariable)
	case token == "":
		return nil, usage("who asks? Give an operator token with --token-file or %s", tokenVariable)
	}
	c, err := operator.NewClient(operator.Config{URL: url, Secret: token})
	if err != nil {
		return nil, &failure{exitUsage, err}
	}
	return c, nil
}

// secretFlag adds the flags of a webhook secret to cmd.
func secretFlag(cmd *cobra.Command, to *string) {
	secretVar(cmd, to, "secret", secretVariable, "Webhook secret as it was shown, whsec_ included")
}
