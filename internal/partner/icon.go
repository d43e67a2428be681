package partner

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"

	"golang.org/x/image/draw"

	"claviger/internal/fault"
	"claviger/internal/secret"
	"claviger/internal/sqldb"
)

// Limits of an uploaded icon, and the side of the stored square. A picture takes four to eight
// bytes per pixel while it is decoded, even if its file is small.
const (
	MaxIconBytes = 512 << 10
	maxIconSide  = 1024
	minIconSide  = 16
	iconSide     = 256
)

// Icon is the picture of a product, as PNG.
type Icon struct {
	Hash string // changes with the picture; part of its URL
	PNG  []byte
}

// readIcon makes an icon of a picture that checkPicture accepts. It redraws the picture, which
// drops all metadata of the file, such as the location of a photo.
func readIcon(ctx context.Context, sent []byte) (Icon, error) {
	picture, err := decodePicture(ctx, sent)
	if err != nil {
		return Icon{}, err
	}
	var b bytes.Buffer
	// The best compression takes ten times as long and saves a quarter of some KiB.
	if err := png.Encode(&b, squared(picture)); err != nil {
		return Icon{}, fmt.Errorf("write an icon: %w", err)
	}
	return Icon{Hash: secret.Hash(b.String())[:16], PNG: b.Bytes()}, nil
}

func errNotIcon() error {
	return fault.Field(
		"icon",
		"is not a picture that we can read; send a PNG, JPEG or WebP without animation. SVG is not accepted.",
	)
}

// squared returns the picture centered in a transparent square. A small one keeps its size.
func squared(picture image.Image) image.Image {
	at := picture.Bounds()
	long := max(at.Dx(), at.Dy())
	side := min(long, iconSide)
	w := max(at.Dx()*side/long, 1)
	h := max(at.Dy()*side/long, 1)
	to := image.Rect(0, 0, w, h).Add(image.Pt((side-w)/2, (side-h)/2))
	out := image.NewNRGBA(image.Rect(0, 0, side, side))
	draw.CatmullRom.Scale(out, to, picture, at, draw.Src, nil)
	return out
}

// Icon returns the icon of a partner's product.
func (r *Store) Icon(ctx context.Context, partnerID int64) (Icon, error) {
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

// storeIcon replaces the product's icon; one without a hash removes it.
func storeIcon(tx *sqldb.Tx, partnerID int64, icon Icon) {
	tx.Queue(`DELETE FROM product_icons WHERE partner_id = $1`, partnerID)
	if icon.Hash != "" {
		tx.Queue(`INSERT INTO product_icons (partner_id, hash, png) VALUES ($1, $2, $3)`,
			partnerID, icon.Hash, base64.StdEncoding.EncodeToString(icon.PNG))
	}
}
