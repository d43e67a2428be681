package operator

import (
	"net/http"
	"sync"

	"claviger/internal/account"
	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/wire"
)

// authenticate looks up the token of a request.
func (o *Operator) authenticate(r *http.Request) (account.Token, error) {
	token, err := wire.Credential(r, secret.IsKind)
	if err != nil {
		return account.Token{}, err
	}
	t, err := o.Accounts.ByToken(r.Context(), token)
	switch {
	case err == nil:
		o.recent.remember(secret.Hash(token), t)
	case fault.Of(err) != nil:
		o.recent.forget(secret.Hash(token))
	}
	return t, err
}

// recall returns the token of a request if it worked before. The sale looks up whether it still
// does.
func (o *Operator) recall(r *http.Request) (account.Token, bool) {
	token, err := wire.Credential(r, secret.IsKind)
	if err != nil {
		return account.Token{}, false
	}
	return o.recent.recall(secret.Hash(token))
}

// maxRecent bounds the number of remembered tokens. When it is reached, all are dropped and looked
// up again.
const maxRecent = 1000

// recentTokens has recently used tokens, by the hashes of their secrets.
type recentTokens struct {
	mu   sync.Mutex
	list map[string]account.Token
}

func (r *recentTokens) remember(hash string, t account.Token) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil || len(r.list) >= maxRecent {
		r.list = map[string]account.Token{}
	}
	t.Recalled = true
	r.list[hash] = t
}

func (r *recentTokens) recall(hash string) (account.Token, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.list[hash]
	return t, ok
}

func (r *recentTokens) forget(hash string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.list, hash)
}
