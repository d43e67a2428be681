package apptest

import (
	"crypto/rand"
	"crypto/rsa"
	"sync"

	"claviger/internal/account"
	"claviger/internal/app"
)

// Cheapen reduces the cost of passwords and signing keys for the services on a database: test data
// needs no protection. RSA keys of that size are made once per test binary. No two keys of one
// database are the same.
func Cheapen(s *app.Services, database string, bits int) {
	s.Accounts.HashCost = account.HashCost{KiB: 8, Passes: 1}
	s.OAuth.Keys.NewRSA = func() (*rsa.PrivateKey, error) { return nextKey(database, bits) }
}

var (
	keyLock sync.Mutex
	keys    = map[int][]*rsa.PrivateKey{} // by bits; guarded by keyLock
	taken   = map[user]int{}              // number in use; likewise
)

// user is a database with keys of one size: its nodes may use different sizes.
type user struct {
	database string
	bits     int
}

// nextKey returns a key that the database does not have yet.
func nextKey(database string, bits int) (*rsa.PrivateKey, error) {
	keyLock.Lock()
	defer keyLock.Unlock()
	of := user{database, bits}
	if taken[of] == len(keys[bits]) {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			return nil, err
		}
		keys[bits] = append(keys[bits], key)
	}
	taken[of]++
	return keys[bits][taken[of]-1], nil
}
