package picture

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"strings"
	"testing"
)

func pngOf(t testing.TB, width, height int) []byte {
	t.Helper()
	return encodePNG(t, image.NewGray(image.Rect(0, 0, width, height)))
}

func encodePNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// chunk is one of a PNG.
func chunk(kind string, data []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(append(b, kind...), data...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// with puts chunks behind the header of a PNG, which has 33 bytes.
func with(data []byte, chunks ...[]byte) []byte {
	return bytes.Join([][]byte{data[:33], bytes.Join(chunks, nil), data[33:]}, nil)
}

func drawn(t testing.TB) image.Image {
	t.Helper()
	img := image.NewNRGBA64(image.Rect(0, 0, 40, 30))
	for x := range 40 {
		for y := range 30 {
			img.Set(x, y, color.NRGBA64{uint16(1601 * x), uint16(2003 * y), 7, uint16(65535 - 100*x)})
		}
	}
	return img
}

// TestBitmaps holds that the pixels stay, and nothing else does.
func TestBitmaps(t *testing.T) {
	const secret = "<script>alert(1)</script>"
	img := drawn(t)
	data := with(encodePNG(t, img), chunk("tEXt", []byte("Comment\x00"+secret)), chunk("acTL", make([]byte, 8)),
		chunk("fdAT", []byte(secret)),
		chunk("eXIf", []byte(secret)))
	p, err := Clean("image/png", append(data, secret...), Large)
	if err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(p.Data))
	if err != nil || p.MIME != "image/png" || bytes.Contains(p.Data, []byte("script")) || bytes.Contains(p.Data,
		[]byte("acTL")) {
		t.Fatalf("%v: %s %.200q", err, p.MIME, p.Data)
	}
	for x := range 40 {
		for y := range 30 {
			if got.At(x, y) != img.At(x, y) {
				t.Fatalf("pixel %d, %d: %v, want %v", x, y, got.At(x, y), img.At(x, y))
			}
		}
	}
}

func TestFormats(t *testing.T) {
	var photo, moving, still bytes.Buffer
	if err := jpeg.Encode(&photo, drawn(t), nil); err != nil {
		t.Fatal(err)
	}
	frame := image.NewPaletted(image.Rect(0, 0, 4, 3), color.Palette{color.Black, color.White})
	if err := gif.EncodeAll(&moving, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{1, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := gif.Encode(&still, frame, nil); err != nil {
		t.Fatal(err)
	}
	exif := bytes.Join([][]byte{photo.Bytes()[:2], {0xff, 0xe1, 0, 10}, []byte("secrets!"), photo.Bytes()[2:]}, nil)
	for name, c := range map[string]struct {
		mime, to string
		data     []byte
		note     bool
	}{
		"jpeg":     {"image/jpeg", "image/jpeg", exif, false},
		"gif":      {"image/gif", "image/png", still.Bytes(), false},
		"animated": {"image/gif", "image/png", moving.Bytes(), true},
		"lossy": {"image/webp", "image/jpeg", unbase64(t,
			"UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"), false},
		"lossless": {"image/webp", "image/png", unbase64(t, "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="), false},
	} {
		p, err := Clean(c.mime, c.data, Large)
		if err != nil || p.MIME != c.to || (p.Note != "") != c.note || bytes.Contains(p.Data, []byte("secrets!")) {
			t.Errorf("%s: %v: %s, note %q", name, err, p.MIME, p.Note)
			continue
		}
		if _, err := Clean(p.MIME, p.Data, Large); err != nil {
			t.Errorf("%s: what is passed on: %v", name, err)
		}
	}
}

func unbase64(t *testing.T, text string) []byte {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestNoPictures(t *testing.T) {
	whole := encodePNG(t, drawn(t))
	huge := bytes.Clone(pngOf(t, 1, 1))
	binary.BigEndian.PutUint32(huge[16:], 60000)
	binary.BigEndian.PutUint32(huge[20:], 60000)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	var zeros bytes.Buffer // far more behind the pixels than belongs to them
	z := zlib.NewWriter(&zeros)
	_, _ = z.Write(make([]byte, 64<<20))
	_ = z.Close()
	for name, c := range map[string]struct {
		mime string
		data []byte
	}{
		"only a header":      {"image/png", []byte("\x89PNG\r\n\x1a\n")},
		"a page in a header": {"image/png", []byte("\x89PNG\r\n\x1a\n<html><script>alert(1)</script>")},
		"cut short":          {"image/png", whole[:len(whole)-20]},
		"another type":       {"image/jpeg", whole},
		"many pixels":        {"image/png", huge},
		"too many by one":    {"image/png", pngOf(t, 1, Large.Pixels+1)},
		"more than its size": {"image/png", bytes.Join([][]byte{
			pngOf(t, 1, 1)[:33], chunk("IDAT", zeros.Bytes()),
			chunk("IEND", nil),
		}, nil)},
		"no jpeg":             {"image/jpeg", []byte("\xff\xd8\xff\xe0")},
		"no gif":              {"image/gif", []byte("GIF89a")},
		"a gif of nothing":    {"image/gif", []byte("GIF89a\x00\x00\x00\x00\x00\x00\x00;")},
		"a large gif":         {"image/gif", []byte("GIF89a\xff\xff\xff\xff\x00\x00\x00;")},
		"no webp":             {"image/webp", []byte("RIFF\x00\x00\x00\x00WEBP")},
		"no type":             {"text/html", []byte("<script>alert(1)</script>")},
		"no type but a parse": {"image/png\r\nx: 1", whole},
	} {
		if p, err := Clean(c.mime, c.data, Large); err == nil {
			t.Errorf("%s: passed on as %s, %d bytes", name, p.MIME, len(p.Data))
		}
	}
}

// TestSlowJPEG has a decoder go over all pixels again and again: a scan of a few bytes, as often as 20 MB hold.
func TestSlowJPEG(t *testing.T) {
	head, scan := progressive(4000, 4000)
	_, err := Clean("image/jpeg", append(head, bytes.Repeat(scan, 500_000)...), Large)
	if !errors.Is(err, ErrLarge) {
		t.Error(err)
	}
}

// TestSmall: what is beyond the limits of Small is told apart from what is no image.
func TestSmall(t *testing.T) {
	head, scan := progressive(1024, 1024)
	for name, c := range map[string]struct {
		mime  string
		data  []byte
		large bool
	}{
		"small":        {"image/png", pngOf(t, 640, 480), false},
		"many pixels":  {"image/png", pngOf(t, 1, Small.Pixels+1), true},
		"many bytes":   {"image/png", append(pngOf(t, 1, 1), make([]byte, Small.Bytes)...), true},
		"slow":         {"image/jpeg", append(head, bytes.Repeat(scan, (Small.Bytes-len(head))/len(scan))...), true},
		"no image":     {"image/png", []byte("\x89PNG\r\n\x1a\n"), false},
		"no such type": {"text/html", nil, false},
	} {
		if _, err := Clean(c.mime, c.data, Small); errors.Is(err, ErrLarge) != c.large {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// progressive is the beginning of a JPEG without pixels, and a scan of it that says nothing, ITU T.81.
func progressive(width, height int) (head, scan []byte) {
	size := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, uint16(height)), uint16(width))
	quantities := append([]byte{0xff, 0xdb, 0, 67, 0}, bytes.Repeat([]byte{1}, 64)...)
	frame := append(append([]byte{0xff, 0xc2, 0, 11, 8}, size...), 1, 1, 0x11, 0)
	// One code of one bit, which ends a band of 2^14 blocks and more: 0xe0.
	codes := append(append([]byte{0xff, 0xc4, 0, 20, 0x10, 1}, make([]byte, 15)...), 0xe0)
	dc := append(append([]byte{0xff, 0xc4, 0, 20, 0x00, 1}, make([]byte, 15)...), 0)
	first := append([]byte{0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 1}, make([]byte, (width/8)*(height/8)/8)...)
	head = bytes.Join([][]byte{{0xff, 0xd8}, quantities, frame, dc, codes, first}, nil)
	scan = append([]byte{0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0}, make([]byte, 32)...)
	return head, scan
}

func FuzzClean(f *testing.F) {
	f.Add("image/png", pngOf(f, 3, 3))
	f.Add("image/gif",
		[]byte("GIF89a\x01\x00\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"))
	f.Add("image/svg+xml",
		[]byte(`<svg xmlns="http://www.w3.org/2000/svg"><style>a{fill:red}</style><use href="#a"/></svg>`))
	f.Fuzz(func(t *testing.T, mime string, data []byte) {
		p, err := Clean(mime, data, Large)
		if err != nil {
			return
		}
		if _, err := Clean(p.MIME, p.Data, Large); err != nil {
			t.Errorf("what is passed on is refused: %v", err)
		}
		if p.MIME == "image/svg+xml" && strings.Contains(string(p.Data), "//") && strings.Count(string(p.Data),
			"//") > 2+strings.Count(string(data), "//") {
			t.Errorf("%s", p.Data)
		}
	})
}

// BenchmarkFigure is of a figure as matplotlib 3.6.3 saves it.
func BenchmarkFigure(b *testing.B) {
	data, err := os.ReadFile("testdata/matplotlib-plot.png")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Clean("image/png", data, Large); err != nil {
			b.Fatal(err)
		}
	}
}

// TestWrongChecksum passes on an image that is shown everywhere though a chunk's checksum is wrong, as some servers
// send it.
func TestWrongChecksum(t *testing.T) {
	data := pngOf(t, 4, 4)
	data[8+8+13] ^= 1 // of the first chunk, IHDR
	if _, err := png.Decode(bytes.NewReader(data)); err == nil {
		t.Fatal("the checksum is right")
	}
	p, err := Clean("image/png", data, Large)
	if err != nil || p.MIME != "image/png" {
		t.Fatal(p.MIME, err)
	}
	if _, err := png.Decode(bytes.NewReader(p.Data)); err != nil {
		t.Error(err)
	}
}
