package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"
)

// Tag makes an entity tag from everything that determines an answer. It is weak: a compressing
// proxy may keep it, and If-None-Match compares weakly anyway.
func Tag(parts ...string) string {
	var b []byte
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p))) // so that different lists of parts differ
		b = append(b, p...)
	}
	sum := sha256.Sum256(b)
	return quoteTag(sum[:])
}

// bodyTag makes the tag of an answer from its body and its paging headers.
func bodyTag(h http.Header, body []byte) string {
	sum := sha256.New()
	_, _ = sum.Write(body) // a hash never fails
	_, _ = sum.Write([]byte(h.Get("Link") + "\n" + h.Get("X-Total-Count")))
	return quoteTag(sum.Sum(nil))
}

func quoteTag(sum []byte) string { return `W/"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"` }

// NotModified answers 304 if the request has the tag in If-None-Match, and reports whether it did.
// It is for a tag that is known before the answer is read. "*" does not match, because only a read
// shows whether anything exists.
func NotModified(w http.ResponseWriter, r *http.Request, tag string) bool {
	if !names(r, tag) {
		return false
	}
	setTag(w, tag)
	w.WriteHeader(http.StatusNotModified)
	return true
}

// AppendTagged is Append with an entity tag: 304 without a body if the request has the tag, or "*",
// in If-None-Match. If tag is empty, it makes one from the body and its paging headers.
func AppendTagged(w http.ResponseWriter, r *http.Request, tag string, write func([]byte) []byte) error {
	p := buffers.Get().(*[]byte)
	b := write(*p)
	err := sendTagged(w, r, tag, b)
	release(p, b)
	return err
}

// JSONTagged is JSON with an entity tag made from the body; see AppendTagged.
func JSONTagged(w http.ResponseWriter, r *http.Request, v any) error {
	p := buffers.Get().(*[]byte)
	b := bytes.NewBuffer(*p)
	if err := encode(b, v); err != nil {
		return err
	}
	err := sendTagged(w, r, "", b.Bytes())
	release(p, b.Bytes())
	return err
}

// sendTagged answers a body with its tag. A 304 has the paging headers, too.
func sendTagged(w http.ResponseWriter, r *http.Request, tag string, body []byte) error {
	if tag == "" {
		tag = bodyTag(w.Header(), body)
	}
	setTag(w, tag)
	if names(r, tag) || strings.TrimSpace(r.Header.Get("If-None-Match")) == "*" {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return Raw(w, http.StatusOK, body)
}

// setTag allows only the client itself to store the answer, and makes it revalidate each time.
func setTag(w http.ResponseWriter, tag string) {
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "private, no-cache")
}

// names reports whether If-None-Match has the tag. Weak and strong tags compare as equal, as RFC
// 9110 requires for this header.
func names(r *http.Request, tag string) bool {
	opaque := strings.TrimPrefix(tag, "W/")
	for _, line := range r.Header["If-None-Match"] {
		for part := range strings.SplitSeq(line, ",") { // our tags have no comma
			if strings.TrimPrefix(strings.TrimSpace(part), "W/") == opaque {
				return true
			}
		}
	}
	return false
}
