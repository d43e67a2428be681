package devserver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// slowness is the delay of answers: slower than most clients expect, and faster than their
// timeouts.
const slowness = 3 * time.Second

// wrap applies the faults to the API of partners.
func (f *faults) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimSuffix(r.URL.Path, "/")
		licensing := strings.HasPrefix(path, "/v2/")
		if !licensing && !strings.HasPrefix(path, "/openid/") || strings.HasPrefix(path, "/openid/authorize") {
			next.ServeHTTP(w, r)
			return
		}
		if f.is(slowAnswers) {
			select {
			case <-time.After(slowness):
			case <-r.Context().Done():
			}
		}
		if licensing && f.is(fewRequests) {
			if w = f.limited(w, r); w == nil {
				return
			}
		}
		switch path {
		case "/openid/token", "/openid/oauth2/token":
			f.watchRefresh(w, r, next)
		case "/openid/license_key", "/openid/userinfo":
			f.expire(w, r, next)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// limited counts a call. If it is one too many, limited answers it and returns nil. Otherwise it
// returns a writer that adds the quota headers.
func (f *faults) limited(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	f.mu.Lock()
	limit := f.limit
	f.mu.Unlock()
	quota := limit.Take("partner")
	if quota.OK {
		return &quotaWriter{ResponseWriter: w, quota: quota}
	}
	quota.Header(w.Header())
	refused := fault.New(
		fault.Throttled,
		wire.CodeRateLimited,
		"Too many requests: %d a minute are allowed. Wait as long as Retry-After says.",
		quota.Limit,
	)
	refused.After = quota.After
	wire.Fail(w, r, refused)
	return nil
}

// quotaWriter sets the quota headers as late as possible: the service, which has no limit, removes
// them.
type quotaWriter struct {
	http.ResponseWriter
	quota wire.Quota
	begun bool
}

// WriteHeader adds the headers.
func (w *quotaWriter) WriteHeader(status int) {
	w.begun = true
	w.quota.Header(w.Header())
	w.ResponseWriter.WriteHeader(status)
}

// Write begins the answer if necessary.
func (w *quotaWriter) Write(b []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Written reports whether the answer has begun.
func (w *quotaWriter) Written() bool { return w.begun }

// Unwrap lets http.ResponseController reach the connection.
func (w *quotaWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// buffered is an answer that is inspected before it is sent.
type buffered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the header of the answer.
func (b *buffered) Header() http.Header { return b.header }

// Write adds to the body.
func (b *buffered) Write(text []byte) (int, error) { return b.body.Write(text) }

// WriteHeader sets the status.
func (b *buffered) WriteHeader(status int) { b.status = status }

// Written reports whether the answer has begun.
func (b *buffered) Written() bool { return b.status != 0 || b.body.Len() > 0 }

func (b *buffered) ok() bool { return b.status == 0 || b.status == http.StatusOK }

// answerOf returns the answer of next.
func answerOf(r *http.Request, next http.Handler, w http.ResponseWriter) *buffered {
	b := &buffered{header: w.Header()}
	next.ServeHTTP(b, r)
	return b
}

// send sends the answer unchanged.
func (b *buffered) send(w http.ResponseWriter) {
	if b.status != 0 {
		w.WriteHeader(b.status)
	}
	_, _ = b.body.WriteTo(w) // the client may have left
}

// watchRefresh records the access token of a refresh: it has not expired.
func (f *faults) watchRefresh(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !f.is(expiredTokens) {
		next.ServeHTTP(w, r)
		return
	}
	asked, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		wire.Fail(w, r, fault.New(fault.Invalid, wire.CodeInvalidBody, "The body could not be read."))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(asked))
	b := answerOf(r, next, w)
	var tokens struct {
		AccessToken string `json:"access_token"`
	}
	// A code exchange has no parameter of this value.
	if b.ok() && bytes.Contains(asked, []byte("refresh_token")) && json.Unmarshal(b.body.Bytes(), &tokens) == nil {
		f.mu.Lock()
		f.fresh[tokens.AccessToken] = true
		f.mu.Unlock()
	}
	b.send(w)
}

// expire refuses a valid token, in the words of the service.
func (f *faults) expire(w http.ResponseWriter, r *http.Request, next http.Handler) {
	token := r.URL.Query().Get("access_token")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		token = bearer
	}
	f.mu.Lock()
	valid := !f.on[expiredTokens] || f.fresh[token]
	f.mu.Unlock()
	if valid {
		next.ServeHTTP(w, r)
		return
	}
	b := answerOf(r, next, w)
	if !b.ok() {
		b.send(w)
		return
	}
	expired := fault.New(fault.Unknown, codeExpiredToken, "The access token has expired. Get a new one by a refresh.")
	wire.RequestLogOf(r.Context()).Err = expired
	_ = wire.JSON(w, http.StatusUnauthorized, oauthRefusal{expired.Code, expired.Text}) // the client may have left
}

// oauthRefusal is an OAuth error.
type oauthRefusal struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}
