package partner

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"claviger/internal/fault"
)

// Files made by a browser: 24 × 20 pixels of lossy WebP, without and with transparent pixels, and
// 16 × 16 lossless.
const (
	webpLossy       = "UklGRmwAAABXRUJQVlA4IGAAAACwAwCdASoYABQAPxGAt1WsJ6UjKAgBgCIJbAC7LqSAMJAkrNU4nAD+DYnHUvjMloXcaa2m027XK4Kpf3P4RV1aAflP0pfNs0bNMM8ZxlrJ8pGVGKUQxwAUf/rLVYAAAAA="
	webpTransparent = "UklGRq4AAABXRUJQVlA4WAoAAAAQAAAAFwAAEwAAQUxQSCEAAAABFyAQSFKffI2ICAeFbCRBIzk+x3Ogv0BE/wNU68gL+AcAVlA4IGYAAABwAwCdASoYABQAPxF4sVIsJyUiqA1RgCIJbAC1G5M86BsM6GAA/r4MSFEawrFaeS7gfoCcYkx7WoFCUb5loCB/FMdvPGlJ62xma4GZzI+Y+kdeAvB/v///dtyGXDfnbeCJlBdAAAA="
	webpLossless    = "UklGRiYAAABXRUJQVlA4TBoAAAAvD8ADAAcQ/Y/+ByKi/wEIEvSzmtOI6H8A"
)

func decoded(t testing.TB, text string) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// segment returns a segment of a JPEG file.
func segment(marker byte, body ...byte) []byte {
	b := binary.BigEndian.AppendUint16([]byte{0xff, marker}, uint16(len(body)+2))
	return append(b, body...)
}

// emptyScan returns a scan over a gray picture of up to 1024 × 1024 pixels, in twelve bytes. One
// code says that it changes no coefficient of any block.
func emptyScan() []byte { return append(segment(0xda, 1, 1, 0, 1, 63, 0x10), 0x7f, 0xfe) }

// progressiveOf returns a gray progressive JPEG with the given side and scans.
func progressiveOf(side uint16, scans ...[]byte) []byte {
	high, low := byte(side>>8), byte(side)
	codes := append([]byte{0x10, 1}, make([]byte, 15)...)
	return joined(
		[]byte{0xff, 0xd8},
		segment(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)...),
		segment(0xc2, 8, high, low, high, low, 1, 1, 0x11, 0),
		segment(0xc4, append(codes, 0xe0)...),
		bytes.Join(scans, nil),
		[]byte{0xff, 0xd9},
	)
}

func joined(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func times(n int, part []byte) []byte { return bytes.Repeat(part, n) }

// pngOf returns a PNG with the given header and data that inflates to n zeros.
func pngOf(t testing.TB, width, height uint32, depth, color, interlace byte, n int) []byte {
	t.Helper()
	var data bytes.Buffer
	z := zlib.NewWriter(&data)
	if _, err := z.Write(make([]byte, n)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)
	header = append(header, depth, color, 0, 0, interlace)
	return joined([]byte("\x89PNG\r\n\x1a\n"), chunk("IHDR", header), chunk("IDAT", data.Bytes()), chunk("IEND", nil))
}

// chunk returns a chunk of a PNG file.
func chunk(name string, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	b = append(append(b, name...), body...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// webpOf returns a WebP file of these chunks: pairs of a name and a body.
func webpOf(parts ...string) []byte {
	body := []byte("WEBP")
	for i := 0; i < len(parts); i += 2 {
		body = binary.LittleEndian.AppendUint32(append(body, parts[i]...), uint32(len(parts[i+1])))
		body = append(body, parts[i+1]...)
		if len(parts[i+1])%2 == 1 {
			body = append(body, 0)
		}
	}
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

// canvas returns the body of VP8X: a picture of the given size without transparent pixels.
func canvas(width, height int) string {
	w, h := width-1, height-1
	return string([]byte{0, 0, 0, 0, byte(w), byte(w >> 8), byte(w >> 16), byte(h), byte(h >> 8), byte(h >> 16)})
}

// lossless returns the beginning of a body of VP8L with the given size.
func lossless(width, height int) string {
	bits := uint32(width-1) | uint32(height-1)<<14
	return string(binary.LittleEndian.AppendUint32([]byte{0x2f}, bits))
}

// read reads a picture as an upload of partner 1.
func read(sent []byte) (Icon, error) {
	return (&Store{Pictures: NewPictures()}).readPicture(context.Background(), 1, sent)
}

// TestPictureScans checks that a JPEG with many scans is refused before it is decoded, wherever the
// markers are. Bytes that only look like the marker of a scan do not count.
func TestPictureScans(t *testing.T) {
	scan := emptyScan()
	for name, tt := range map[string]struct {
		sent  []byte
		scans int
	}{
		"one scan":                    {progressiveOf(64, scan), 1},
		"as many as are accepted":     {progressiveOf(64, times(maxScans, scan)), maxScans},
		"one more":                    {progressiveOf(64, times(maxScans+1, scan)), maxScans + 1},
		"38 KB":                       {progressiveOf(1024, times(3160, scan)), 3160},
		"512 KiB":                     {progressiveOf(1024, times(43_600, scan)), 43_600},
		"fill bytes before each":      {progressiveOf(64, times(40, joined([]byte{0xff, 0xff}, scan))), 40},
		"data behind each":            {progressiveOf(64, times(40, joined(scan, []byte("more\xff\x00\xff\xd3")))), 40},
		"comments between":            {progressiveOf(64, times(40, joined(scan, segment(0xfe, scan...)))), 40},
		"scans in a comment":          {progressiveOf(64, segment(0xfe, times(40, scan)...), scan), 1},
		"scans behind the end":        {joined(progressiveOf(64, scan), times(40, scan)), 1},
		"a comment without an end":    {progressiveOf(64, scan, []byte{0xff, 0xfe, 0xff, 0xff}), 1},
		"a marker without a length":   {bytes.TrimSuffix(progressiveOf(64, scan, []byte{0xff, 0xda}), []byte{0xff, 0xd9}), 1},
		"a segment that is too short": {progressiveOf(64, times(40, joined(scan, []byte{0xff, 0xfe, 0, 0}))), 40},
	} {
		t.Run(name, func(t *testing.T) {
			if got := jpegScans(tt.sent); got != tt.scans {
				t.Errorf("it has %d scans, want %d", got, tt.scans)
			}
			_, err := read(tt.sent)
			f := fault.Of(err)
			switch refused := f != nil && strings.Contains(f.Text, "scans; at most 32 are accepted. Save the picture again as PNG"); {
			case refused && f.Field != "icon":
				t.Errorf("refused is the field %q", f.Field)
			case refused != (tt.scans > maxScans):
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestPictureSize checks the size before the pixels are decoded, also if a file states it twice.
// Data for more pixels is refused.
func TestPictureSize(t *testing.T) {
	var wide bytes.Buffer
	if err := jpeg.Encode(&wide, image.NewGray(image.Rect(0, 0, 1025, 16)), nil); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		sent []byte
		why  string
	}{
		"a wide PNG":                      {pngOf(t, 1025, 16, 8, 0, 0, 0), "1025 × 16 pixels"},
		"a wide PNG with interlace":       {pngOf(t, 16, 65535, 16, 6, 1, 0), "16 × 65535 pixels"},
		"PNG with more data":              {pngOf(t, 16, 16, 8, 0, 0, 8<<20), "not a picture that we can read"},
		"PNG with interlace and more":     {pngOf(t, 16, 16, 8, 0, 1, 8<<20), "not a picture that we can read"},
		"PNG with less data":              {pngOf(t, 1024, 1024, 16, 6, 1, 1000), "not a picture that we can read"},
		"a wide JPEG":                     {wide.Bytes(), "1025 × 16 pixels"},
		"JPEG with two sizes":             {progressiveOf(64, segment(0xc2, 8, 4, 0, 4, 0, 1, 1, 0x11, 0), emptyScan()), "not a picture that we can read"},
		"a wide WebP":                     {webpOf("VP8L", lossless(1025, 16)), "1025 × 16 pixels"},
		"a WebP with a wide canvas":       {webpOf("VP8X", canvas(1<<20, 64)), "1048576 × 64 pixels"},
		"WebP that is wider than it says": {webpOf("VP8X", canvas(64, 64), "VP8L", lossless(16384, 16384)), "not a picture that we can read"},
		"WebP with two canvases":          {webpOf("VP8X", canvas(64, 64), "VP8X", canvas(16384, 16384)), "not a picture that we can read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(tt.sent)
			if f := fault.Of(err); f == nil || f.Field != "icon" || !strings.Contains(f.Text, tt.why) {
				t.Errorf("got %v, want %q", err, tt.why)
			}
		})
	}
}

// TestPictureSlots checks that at most one picture of a partner is decoded at a time, and two in
// total. An upload waits for a slot, and is refused if none becomes free.
func TestPictureSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Store{Pictures: NewPictures()}
		hold := func(partner string) {
			t.Helper()
			if err := r.Pictures.Acquire(t.Context(), partner, 1); err != nil {
				t.Fatal(err)
			}
		}
		upload := func(partner int64) error {
			_, err := r.readPicture(t.Context(), partner, decoded(t, webpLossless))
			return err
		}
		refused := func(err error) bool {
			f := fault.Of(err)
			return f != nil && f.Kind == fault.Busy && f.Code == "too_many_pictures" && f.After > 0 &&
				strings.Contains(f.Text, "Send it again")
		}
		hold("1")
		if err := upload(1); !refused(err) {
			t.Errorf("the second one of a partner: %v", err)
		}
		if err := upload(2); err != nil {
			t.Errorf("one of another partner: %v", err)
		}
		hold("2")
		if err := upload(3); !refused(err) {
			t.Errorf("a third one: %v", err)
		}
		done := make(chan error, 3)
		for range 3 {
			go func() { done <- upload(1) }()
		}
		synctest.Wait()
		select {
		case err := <-done:
			if !refused(err) {
				t.Errorf("one more than may wait: %v", err)
			}
		default:
			t.Error("all three wait")
		}
		r.Pictures.Release("1", 1)
		for range 2 {
			if err := <-done; err != nil {
				t.Errorf("one that waited: %v", err)
			}
		}
	})
}

// TestPictureClientLeaves checks that the upload of a disconnected client neither waits nor is
// decoded further, and that its slot is free again.
func TestPictureClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Store{Pictures: NewPictures()}
		if err := r.Pictures.Acquire(t.Context(), "1", 1); err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Millisecond, leave)
		if _, err := r.readPicture(ctx, 1, decoded(t, webpLossless)); !errors.Is(err, context.Canceled) {
			t.Errorf("while it waits: %v", err)
		}
		if waited := time.Since(began); waited > time.Millisecond {
			t.Errorf("it waited for %v", waited)
		}
		r.Pictures.Release("1", 1)
		long := progressiveOf(64, segment(0xfe, make([]byte, 60_000)...), emptyScan())
		if _, err := r.readPicture(&leaving{Context: t.Context(), looks: 20}, 1, long); !errors.Is(err, context.Canceled) {
			t.Errorf("while it is decoded: %v", err)
		}
		if _, err := r.readPicture(t.Context(), 1, long); err != nil {
			t.Errorf("the next one: %v", err)
		}
	})
}

// leaving is the context of a client that leaves after a number of checks of it.
type leaving struct {
	context.Context
	looks int
}

func (l *leaving) Err() error {
	if l.looks--; l.looks < 0 {
		return context.Canceled
	}
	return nil
}

// FuzzPicture checks that any input is read or refused, and that an icon is a square.
func FuzzPicture(f *testing.F) {
	for _, text := range []string{webpLossy, webpTransparent, webpLossless} {
		f.Add(decoded(f, text))
	}
	for _, color := range []byte{0, 2, 3, 4, 6} {
		f.Add(pngOf(f, 20, 24, 8, color, 0, 24*(1+20*4)))
		f.Add(pngOf(f, 20, 24, 8, color, 1, 24*(1+20*4)))
	}
	f.Add(pngOf(f, 1024, 1024, 16, 6, 1, 1024*1024*8+1920))
	for _, picture := range []image.Image{image.NewGray(image.Rect(0, 0, 17, 30)), image.NewRGBA(image.Rect(0, 0, 30, 17))} {
		var photo bytes.Buffer
		if err := jpeg.Encode(&photo, picture, nil); err != nil {
			f.Fatal(err)
		}
		f.Add(photo.Bytes())
	}
	f.Add(progressiveOf(64, times(3, emptyScan())))
	f.Add(progressiveOf(1024, times(maxScans, emptyScan())))
	f.Add(webpOf("VP8X", canvas(64, 64), "VP8L", lossless(64, 64)))
	f.Fuzz(func(t *testing.T, sent []byte) {
		icon, err := read(sent)
		if err != nil {
			if refused := fault.Of(err); refused == nil || refused.Field != "icon" {
				t.Errorf("got %v", err)
			}
			return
		}
		c, err := png.DecodeConfig(bytes.NewReader(icon.PNG))
		if err != nil || c.Width != c.Height || c.Width > iconSide || icon.Hash == "" {
			t.Errorf("the icon %q has %d × %d pixels: %v", icon.Hash, c.Width, c.Height, err)
		}
	})
}
