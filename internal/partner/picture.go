package partner

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/jpeg" // a form that icons come in
	"strconv"
	"time"

	_ "golang.org/x/image/webp" // a form that icons come in

	"claviger/internal/fault"
	"claviger/internal/wire"
)

// maxScans is the maximum number of scans in a JPEG. A decoder visits all pixels for each of them,
// and a scan can have as few as twelve bytes. Usual progressive files have ten.
const maxScans = 32

// NewPictures returns the slots for decoding pictures: one per partner, two in total. Waiting
// uploads hold their bytes in memory, so at most two of a partner wait.
func NewPictures() *wire.Share { return &wire.Share{Total: 2, Waiting: 2} }

// readPicture reads an icon when a slot for the partner is free. It gives up when ctx is done.
func (r *Store) readPicture(ctx context.Context, partnerID int64, sent []byte) (Icon, error) {
	if err := checkPicture(sent); err != nil {
		return Icon{}, err
	}
	key := strconv.FormatInt(partnerID, 10)
	err := r.Pictures.Acquire(ctx, key, 1)
	switch {
	case ctx.Err() != nil && err != nil:
		return Icon{}, err
	case err != nil:
		return Icon{}, errTooManyPictures()
	}
	defer r.Pictures.Release(key, 1)
	return readIcon(ctx, sent)
}

func errTooManyPictures() error {
	f := fault.New(fault.Busy, CodeTooManyPictures,
		"Other pictures are being read just now, so this one was not saved. Send it again in a few seconds.")
	f.After = 5 * time.Second
	return f
}

// checkPicture refuses pictures that must not be decoded. It reads only headers and markers.
func checkPicture(sent []byte) error {
	if len(sent) > MaxIconBytes {
		return fault.Field("icon", "has %d bytes; send a picture of at most %d KiB.", len(sent), MaxIconBytes>>10)
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(sent))
	if err != nil || format != "png" && format != "jpeg" && format != "webp" {
		return errNotIcon()
	}
	if min(c.Width, c.Height) < minIconSide || max(c.Width, c.Height) > maxIconSide {
		return fault.Field("icon", "has %d × %d pixels; each side must have %d to %d. A square of %d is best.",
			c.Width, c.Height, minIconSide, maxIconSide, iconSide)
	}
	if format != "jpeg" {
		return nil
	}
	if n := jpegScans(sent); n > maxScans {
		return fault.Field("icon", "is a JPEG with %d scans; at most %d are accepted. "+
			"Save the picture again as PNG, or as JPEG without the option “progressive”, and send that file.", n,
			maxScans)
	}
	return nil
}

// decodePicture decodes a picture that checkPicture accepts.
func decodePicture(ctx context.Context, sent []byte) (image.Image, error) {
	picture, _, err := image.Decode(&pictureReader{ctx: ctx, sent: bytes.NewReader(sent)})
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("read a picture: %w", context.Cause(ctx))
	case err != nil:
		return nil, errNotIcon()
	}
	return picture, nil
}

// pictureReader fails when its context is done, which ends the decoding. It returns a few bytes at
// a time, because a decoder can work long on the bytes it has.
type pictureReader struct {
	ctx  context.Context //nolint:containedctx // decoders take a reader and no context
	sent *bytes.Reader
}

func (r *pictureReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.sent.Read(p[:min(len(p), 256)])
}

// JPEG markers that jpegScans handles.
const (
	markerStuffed  = 0x00 // a byte 0xff in the data of a scan
	markerReset    = 0xd0 // up to markerReset+7: within the data of a scan
	markerEndImage = 0xd9
	markerScan     = 0xda
	markerFill     = 0xff
)

// jpegScans counts the scans of a JPEG in the same way as image/jpeg: it skips segments by their
// length, and searches for the next marker after the data of a scan.
func jpegScans(file []byte) int {
	scans := 0
	for at := 2; ; {
		next := bytes.IndexByte(file[min(at, len(file)):], markerFill)
		if next < 0 {
			return scans
		}
		for at += next; at < len(file) && file[at] == markerFill; {
			at++
		}
		if at+3 > len(file) {
			return scans
		}
		marker := file[at]
		at++
		switch {
		case marker == markerEndImage:
			return scans
		case marker == markerStuffed, marker&^7 == markerReset:
			continue
		case marker == markerScan:
			scans++
		}
		at += int(file[at])<<8 | int(file[at+1])
	}
}
