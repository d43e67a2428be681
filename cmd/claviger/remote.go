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

// The variables of commands that ask a service. The command line beats them; serve and
// dev leave them alone.
const (
	urlVariable    = "CLAVIGER_URL"
	apiKeyVariable = "CLAVIGER_API_KEY"
	tokenVariable  = "CLAVIGER_OPERATOR_TOKEN" //nolint:gosec // its name, not a token
	secretVariable = "CLAVIGER_WEBHOOK_SECRET" //nolint:gosec // likewise
	clientVariable = "CLAVIGER_CLIENT_SECRET"  //nolint:gosec // likewise
)

// remote is the service that a command asks, as the command line and the environment
// name it.
type remote struct {
	url, apiKey, token string
	asJSON             bool
	http               *http.Client // nil: one that gives up after a minute
}

// remoteFlags gives cmd the flags that say which service is asked, and as whom.
func remoteFlags(cmd *cobra.Command) *remote {
	r := operatorFlags(cmd)
	cmd.Flags().StringVar(&r.apiKey, "api-key", "", "API key of a partner, in place of an operator token; else "+apiKeyVariable)
	return r
}

// devMails is where a claviger dev shows its mails; nothing else has it.
const devMails = "/dev/mail/"

// asker is the client of whoever asks: one of both is nil.
type asker struct {
	partner  *claviger.Client
	operator *operator.Client
}

// open makes the client. A flag beats a variable, and of the variables the API key
// beats the token: it may do less.
func (r *remote) open() (asker, error) {
	url := cmp.Or(r.url, os.Getenv(urlVariable))
	if url == "" {
		return asker{}, usage("which service? Name it with --url or %s, such as http://localhost:8080", urlVariable)
	}
	if r.apiKey != "" && r.token != "" {
		return asker{}, usage("--api-key and --token are two ways to ask; give one of them")
	}
	key, token := r.apiKey, r.token
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
		return asker{}, usage("who asks? Give a partner's API key with --api-key or %s, or an operator token with --token or %s", apiKeyVariable, tokenVariable)
	}
	if err != nil {
		return asker{}, &failure{exitUsage, err}
	}
	return a, nil
}

// answered gives an error of a client its exit code: a refusal by the service, or that
// it was not reached. One that has its code already keeps it.
func answered(err error) error {
	if _, ok := errors.AsType[*failure](err); ok || err == nil {
		return err
	}
	if refused, ok := errors.AsType[*claviger.Error](err); ok {
		return &failure{exitRefused, refused}
	}
	return &failure{exitUnreachable, err}
}

// take reads the first of a list, at most limit of them.
func take[T any](list iter.Seq2[T, error], limit int) ([]T, error) {
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

// pageSize is how many items to ask for at once when limit are wanted.
func pageSize(limit int) int { return min(limit, 100) }

// operatorFlags is remoteFlags for commands that only an operator token opens.
func operatorFlags(cmd *cobra.Command) *remote {
	r := &remote{}
	cmd.Flags().StringVar(&r.url, "url", "", "URL of the service; else "+urlVariable)
	cmd.Flags().StringVar(&r.token, "token", "", "Operator token; else "+tokenVariable)
	cmd.Flags().BoolVar(&r.asJSON, "json", false, "Print JSON")
	return r
}

// openOperator makes the client of an operator.
func (r *remote) openOperator() (*operator.Client, error) {
	url, token := cmp.Or(r.url, os.Getenv(urlVariable)), cmp.Or(r.token, os.Getenv(tokenVariable))
	switch {
	case url == "":
		return nil, usage("which service? Name it with --url or %s, such as http://localhost:8080", urlVariable)
	case token == "":
		return nil, usage("who asks? Give an operator token with --token or %s", tokenVariable)
	}
	c, err := operator.NewClient(operator.Config{URL: url, Secret: token})
	if err != nil {
		return nil, &failure{exitUsage, err}
	}
	return c, nil
}

// secretFlag gives cmd the flag of a webhook secret.
func secretFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "secret", "", "Webhook secret as it was shown, whsec_ included; else "+secretVariable)
}
