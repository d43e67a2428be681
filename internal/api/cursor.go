package api

import (
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"time"

	"claviger/internal/fault"
	"claviger/internal/license"
)

// A cursor is a position in a list, opaque to its reader. It says where to continue and grants no
// access: a made-up one gets another part of the reader's own list.

// cursorOf encodes a position as a cursor.
func cursorOf(p license.Position) string {
	b := binary.AppendVarint(nil, p.UpdatedAt.UnixNano())
	return base64.RawURLEncoding.EncodeToString(binary.AppendVarint(b, p.Ord))
}

// parseCursor decodes a cursor of cursorOf.
func parseCursor(s string) (p license.Position, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return p, false
	}
	at, n := binary.Varint(b)
	if n <= 0 || at <= 0 {
		return p, false
	}
	ord, m := binary.Varint(b[n:])
	if m <= 0 || ord <= 0 || n+m != len(b) {
		return p, false
	}
	return license.Position{UpdatedAt: time.Unix(0, at).UTC(), Ord: ord}, true
}

// positionOf reads the parameter cursor of the list of changed licenses; without it, the list
// starts at its beginning.
func positionOf(q url.Values) (license.Position, error) {
	if !q.Has("cursor") {
		return license.Position{}, nil
	}
	switch p, ok := parseCursor(q.Get("cursor")); {
	case !q.Has("updated_since"):
		return p, fault.Parameter("cursor", "goes with updated_since only. Follow the next link of a page unchanged.")
	case q.Has("page"):
		return p, fault.Parameter(
			"cursor",
			"says where the page begins, so page cannot be given as well. Leave one of them out.",
		)
	case !ok:
		return p, fault.Parameter(
			"cursor",
			"is not a cursor of this list. Follow the next link of a page unchanged, or leave cursor out to begin "+
				"with the first page.",
		)
	default:
		return p, nil
	}
}
