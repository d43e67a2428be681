// Package accounttest makes one-time codes like an authenticator app and answers challenges like a
// device with a passkey, for tests.
package accounttest

import (
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // what authenticator apps use
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"
)

// Code returns the one-time code of a secret at a time.
func Code(t testing.TB, secret string, at time.Time) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	var step [8]byte
	binary.BigEndian.PutUint64(step[:], uint64(at.Unix()/30)) //nolint:gosec // after 1970
	mac := hmac.New(sha1.New, key)
	mac.Write(step[:])
	sum := mac.Sum(nil)
	n := binary.BigEndian.Uint32(sum[sum[19]&15:]) & math.MaxInt32
	return fmt.Sprintf("%06d", n%1_000_000)
}
