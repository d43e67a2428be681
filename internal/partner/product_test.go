package partner_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"claviger/internal/fault"
	"claviger/internal/partner"
	"claviger/internal/sqldb"
)

// picture returns a picture of one color.
func picture(w, h int) image.Image {
	p := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range p.Pix {
		p.Pix[i] = 200
	}
	return p
}

func pngOf(t *testing.T, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestChangeProduct(t *testing.T) {
	d := open(t)
	p, _ := d.create(t, partner.Draft{Name: "Tide"})
	if got, err := d.Product(t.Context(), p.ID); err != nil || got != (partner.Product{PartnerID: p.ID}) {
		t.Fatalf("before anything is said: %+v, %v", got, err)
	}
	first, err := d.ChangeProduct(t.Context(), operator, p.ID, partner.ProductChange{
		Tagline: new(" Tides for sailors "), Description: new("# Tides\r\n\r\nAll of them."), Website: new("https://tide.example"),
		SupportEmail: new("help@tide.example"), RefundTerms: new("30 days."), Icon: new(pngOf(t, picture(64, 64))),
	})
	if err != nil {
		t.Fatal(err)
	}
	d.now = d.now.Add(time.Hour)
	second, err := d.ChangeProduct(t.Context(), operator, p.ID, partner.ProductChange{Website: new("")})
	if err != nil {
		t.Fatal(err)
	}
	want := partner.Product{
		PartnerID: p.ID, Tagline: "Tides for sailors", Description: "# Tides\n\nAll of them.", SupportEmail: "help@tide.example",
		RefundTerms: "30 days.", Icon: first.Icon, UpdatedAt: d.now,
	}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("after both changes (-want +got):\n%s", diff)
	}
	d.now = d.now.Add(time.Hour)
	if again, err := d.ChangeProduct(t.Context(), operator, p.ID, partner.ProductChange{Tagline: new("Tides for sailors")}); err != nil || again != second {
		t.Errorf("a change to what is so already: %+v, %v", again, err)
	}
	n, err := sqldb.One(t.Context(), d.DB, sqldb.Value[int64], `SELECT count(*) FROM audit_entries WHERE action = 'partner.product'`)
	if err != nil || n != 2 {
		t.Errorf("%d entries in the audit, %v; want one per change", n, err)
	}
	if _, err := d.ChangeProduct(t.Context(), operator, 99, partner.ProductChange{Tagline: new("x")}); !fault.Is(err, partner.CodeUnknownPartner) {
		t.Errorf("the product of nobody: %v", err)
	}
}

func TestChangeProductRefuses(t *testing.T) {
	d := open(t)
	p, _ := d.create(t, partner.Draft{Name: "Tide"})
	for field, c := range map[string]partner.ProductChange{
		"tagline":       {Tagline: new("two\nlines")},
		"description":   {Description: new(strings.Repeat("x", partner.MaxDescription+1))},
		"website":       {Website: new("javascript:alert(1)")},
		"support_email": {SupportEmail: new("nobody")},
		"refund_terms":  {RefundTerms: new("a\x00b")},
		"icon":          {Icon: new([]byte("<svg xmlns='http://www.w3.org/2000/svg'/>"))},
	} {
		_, err := d.ChangeProduct(t.Context(), operator, p.ID, c)
		if f := fault.Of(err); f == nil || f.Kind != fault.Unprocessable || f.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if got, err := d.Product(t.Context(), p.ID); err != nil || got != (partner.Product{PartnerID: p.ID}) {
		t.Errorf("after the refusals: %+v, %v", got, err)
	}
}

// webpOf is a lossless WebP file of 16 × 16 pixels.
const webpOf = "UklGRiYAAABXRUJQVlA4TBoAAAAvD8ADAAcQ/Y/+ByKi/wEIEvSzmtOI6H8A"

func TestIcon(t *testing.T) {
	d := open(t)
	p, _ := d.create(t, partner.Draft{Name: "Tide"})
	var photo, moving bytes.Buffer
	if err := jpeg.Encode(&photo, picture(40, 20), nil); err != nil {
		t.Fatal(err)
	}
	if err := gif.Encode(&moving, image.NewPaletted(image.Rect(0, 0, 40, 40), color.Palette{color.Black}), nil); err != nil {
		t.Fatal(err)
	}
	small, err := base64.StdEncoding.DecodeString(webpOf)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		sent []byte
		side int    // of the icon
		why  string // of the refusal
	}{
		{"PNG", pngOf(t, picture(64, 64)), 64, ""},
		{"a large PNG", pngOf(t, picture(1024, 512)), 256, ""},
		{"JPEG", photo.Bytes(), 40, ""},
		{"WebP", small, 16, ""},
		{"GIF", moving.Bytes(), 0, "PNG, JPEG or WebP"},
		{"SVG", []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), 0, "PNG, JPEG or WebP"},
		{"half a PNG", pngOf(t, picture(64, 64))[:60], 0, "PNG, JPEG or WebP"},
		{"too wide", pngOf(t, picture(1025, 64)), 0, "1025 × 64 pixels"},
		{"too small", pngOf(t, picture(64, 8)), 0, "64 × 8 pixels"},
		{"too many bytes", make([]byte, partner.MaxIconBytes+1), 0, "at most 512 KiB"},
		{"a PNG that says it has 60000 × 60000", huge(t), 0, "60000 × 60000 pixels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := d.ChangeProduct(t.Context(), operator, p.ID, partner.ProductChange{Icon: &tt.sent})
			if tt.why != "" {
				if f := fault.Of(err); f == nil || f.Field != "icon" || !strings.Contains(f.Text, tt.why) {
					t.Errorf("got %v, want a refusal with %q", err, tt.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			icon, err := d.Icon(t.Context(), p.ID)
			if err != nil || icon.Hash != got.Icon || !strings.Contains(got.IconPath(), icon.Hash) {
				t.Fatalf("the icon %s of %s: %v", icon.Hash, got.IconPath(), err)
			}
			c, err := png.DecodeConfig(bytes.NewReader(icon.PNG))
			if err != nil || c.Width != tt.side || c.Height != tt.side {
				t.Errorf("it is stored with %d × %d pixels, %v", c.Width, c.Height, err)
			}
		})
	}
	if got, err := d.ChangeProduct(t.Context(), operator, p.ID, partner.ProductChange{Icon: new([]byte{})}); err != nil || got.Icon != "" || got.IconPath() != "" {
		t.Errorf("without an icon: %+v, %v", got, err)
	}
	if _, err := d.Icon(t.Context(), p.ID); !fault.Is(err, partner.CodeUnknownIcon) {
		t.Errorf("an icon that was removed: %v", err)
	}
}

// huge returns a PNG of few bytes with a header that promises more pixels than memory has.
func huge(t *testing.T) []byte {
	t.Helper()
	b := pngOf(t, picture(16, 16))
	copy(b[16:24], []byte{0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60})
	sum := crc32.ChecksumIEEE(b[12:29])
	binary.BigEndian.PutUint32(b[29:33], sum)
	return b
}

// TestPlanTexts checks that a change leaves other texts unchanged, and that at most one plan is
// recommended.
func TestPlanTexts(t *testing.T) {
	d := open(t)
	p, _ := d.create(t, partner.Draft{Name: "Tide"})
	put := func(tier int, texts partner.PlanTexts) partner.Plan {
		t.Helper()
		got, _, err := d.PutPlanWith(t.Context(), operator, p.ID, partner.Plan{Tier: tier, Name: "Plan"}, texts)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	put(1, partner.PlanTexts{Description: new("For one."), Features: new([]string{" a ", "b"}), Recommended: new(true), Sort: new(5)})
	put(2, partner.PlanTexts{})
	got := put(1, partner.PlanTexts{})
	if got.Description != "For one." || !cmp.Equal(got.Features, []string{"a", "b"}) || !got.Recommended || got.Sort != 5 {
		t.Errorf("after a change without texts: %+v", got)
	}
	if _, err := d.DescribePlan(t.Context(), operator, p.ID, 2, partner.PlanTexts{Recommended: new(true)}); err != nil {
		t.Fatal(err)
	}
	list, err := d.Plans(t.Context(), p.ID)
	if err != nil || len(list) != 2 || list[0].Tier != 2 || !list[0].Recommended || list[1].Recommended {
		t.Errorf("the plans are %+v, %v; want tier 2, which is recommended alone, first", list, err)
	}
	for field, texts := range map[string]partner.PlanTexts{
		"description": {Description: new(strings.Repeat("x", partner.MaxPlanDescription+1))},
		"features":    {Features: new(make([]string, partner.MaxFeatures+1))},
		"sort":        {Sort: new(partner.MaxSort + 1)},
	} {
		_, err := d.DescribePlan(t.Context(), operator, p.ID, 1, texts)
		if f := fault.Of(err); f == nil || f.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := d.DescribePlan(t.Context(), operator, p.ID, 3, partner.PlanTexts{}); !fault.Is(err, partner.CodeUnknownPlan) {
		t.Errorf("a plan that there is not: %v", err)
	}
}
