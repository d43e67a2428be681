package partner

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // a form that icons come in
	"image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // a form that icons come in

	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// The bounds of an icon as it is sent, and the side of the square that is stored. A
// picture takes four to eight bytes per pixel while it is read, however few it is sent in.
const (
	MaxIconBytes = 512 << 10
	maxIconSide  = 1024
	minIconSide  = 16
	iconSide     = 256
)

// Icon is the picture of a product, as PNG.
type Icon struct {
	Hash string // another one for another picture; part of its address
	PNG  []byte
}

// readIcon makes an icon of a picture that somebody sent. It is drawn anew: whatever else
// the file had in it, such as where a photo was taken, is gone.
func readIcon(sent []byte) (Icon, error) {
	if len(sent) > MaxIconBytes {
		return Icon{}, fault.Field("icon", "has %d bytes; send a picture of at most %d KiB.", len(sent), MaxIconBytes>>10)
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(sent))
	if err != nil || format != "png" && format != "jpeg" && format != "webp" {
		return Icon{}, errNotIcon()
	}
	if min(c.Width, c.Height) < minIconSide || max(c.Width, c.Height) > maxIconSide {
		return Icon{}, fault.Field("icon", "has %d × %d pixels; each side must have %d to %d. A square of %d is best.", c.Width, c.Height, minIconSide, maxIconSide, iconSide)
	}
	picture, _, err := image.Decode(bytes.NewReader(sent))
	if err != nil {
		return Icon{}, errNotIcon()
	}
	var b bytes.Buffer
	// The best compression takes ten times as long and saves a quarter of some KiB.
	if err := png.Encode(&b, squared(picture)); err != nil {
		return Icon{}, fmt.Errorf("write an icon: %w", err)
	}
	return Icon{Hash: secret.Hash(b.String())[:16], PNG: b.Bytes()}, nil
}

func errNotIcon() error {
	return fault.Field("icon", "is not a picture that we can read; send a PNG, JPEG or WebP without animation. SVG is not accepted.")
}

// squared is the picture in the middle of a transparent square. A small one keeps its size.
func squared(picture image.Image) image.Image {
	at := picture.Bounds()
	long := max(at.Dx(), at.Dy())
	side := min(long, iconSide)
	w, h := max(at.Dx()*side/long, 1), max(at.Dy()*side/long, 1)
	to := image.Rect(0, 0, w, h).Add(image.Pt((side-w)/2, (side-h)/2))
	out := image.NewNRGBA(image.Rect(0, 0, side, side))
	draw.CatmullRom.Scale(out, to, picture, at, draw.Src, nil)
	return out
}

// Icon returns the icon of a partner's product.
func (r *Registry) Icon(ctx context.Context, partnerID int64) (Icon, error) {
	var icon Icon
	text, err := sqldb.One(ctx, r.DB, func(row *sqldb.Row, s *string) error { return row.Scan(&icon.Hash, s) },
		`SELECT hash, png FROM product_icons WHERE partner_id = $1`, partnerID)
	switch {
	case errors.Is(err, sqldb.ErrNone):
		return Icon{}, fault.New(fault.Missing, CodeUnknownIcon, "The product has no icon.")
	case err != nil:
		return Icon{}, fmt.Errorf("read an icon: %w", err)
	}
	if icon.PNG, err = base64.StdEncoding.DecodeString(text); err != nil {
		return Icon{}, fmt.Errorf("read an icon: %w", err)
	}
	return icon, nil
}

// storeIcon makes the icon the product's; one without a hash removes it.
func storeIcon(tx *sqldb.Tx, partnerID int64, icon Icon) {
	tx.Queue(`DELETE FROM product_icons WHERE partner_id = $1`, partnerID)
	if icon.Hash != "" {
		tx.Queue(`INSERT INTO product_icons (partner_id, hash, png) VALUES ($1, $2, $3)`,
			partnerID, icon.Hash, base64.StdEncoding.EncodeToString(icon.PNG))
	}
}
