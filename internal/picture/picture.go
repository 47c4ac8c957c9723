// Package picture makes what code shows safe to pass on: a picture is decoded within bounds and encoded again, so that
// each byte a client gets was written here, and what is no picture is refused.
//
// It is a pure function of bytes; nothing needs closing. One call within the limits of Large may hold some 300 MB for a
// moment: callers take turns.
package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"time"

	"golang.org/x/image/webp"
)

// A Picture is one that may be passed on.
type Picture struct {
	MIME string
	Data []byte
	Note string // what was lost, if that matters
}

// Limits are how much of a picture is decoded.
type Limits struct {
	Bytes  int // of it as it is
	Pixels int // of all images in it
	Time   time.Duration
}

// Tiny is what takes hardly any of a processor, such as a plot, Small what takes little, and Large all that is decoded.
var (
	Tiny  = Limits{Bytes: 64 << 10, Pixels: 1 << 19, Time: time.Second / 40}
	Small = Limits{Bytes: 1 << 20, Pixels: 2 << 20, Time: time.Second / 4}
	Large = Limits{Bytes: math.MaxInt, Pixels: 16 << 20, Time: 2 * time.Second} // A4 at 300 dots per inch has 9 million
)

// ErrLarge is that a picture is beyond the limits.
var ErrLarge = errors.New("it is too large")

const quality = 92 // of a JPEG that is encoded again

type format struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

var formats = map[string]format{
	"image/png":  {png.DecodeConfig, png.Decode},
	"image/jpeg": {jpeg.DecodeConfig, jpeg.Decode},
	"image/gif":  {gif.DecodeConfig, gif.Decode},
	"image/webp": {webp.DecodeConfig, webp.Decode},
}

// Clean returns the picture that data of a type holds, without what else is in it. GIF and WebP become PNG or JPEG. Of
// one beyond the limits the error wraps ErrLarge.
func Clean(mime string, data []byte, limits Limits) (Picture, error) {
	if len(data) > limits.Bytes {
		return Picture{}, fmt.Errorf("%w: %d bytes, and at most %d are decoded", ErrLarge, len(data), limits.Bytes)
	}
	b := &budget{pixels: limits.Pixels, end: time.Now().Add(limits.Time)}
	b.slow = fmt.Errorf("%w: decoding it takes more than %v", ErrLarge, limits.Time)
	if mime == "image/svg+xml" {
		return b.svg(data)
	}
	return b.bitmap(mime, data)
}

// budget is what may still be done for one picture, with those that are within it.
type budget struct {
	pixels int
	end    time.Time
	slow   error // what is wrong with one that is not decoded then
}

func (b *budget) bitmap(mime string, data []byte) (p Picture, err error) {
	defer func() {
		if cause := recover(); cause != nil { // a decoder's mistake ends no other session
			p, err = Picture{}, fmt.Errorf("decoding it failed: %v", cause)
		}
	}()
	f, ok := formats[mime]
	if !ok {
		return p, errors.New("that is no type of image")
	}
	if mime == "image/png" {
		data = withChecksums(data)
	}
	c, err := f.config(bytes.NewReader(data))
	switch {
	case err != nil:
		return p, err
	case c.Width < 1 || c.Height < 1:
		return p, errors.New("it has no pixels")
	case c.Width > b.pixels/c.Height:
		return p, fmt.Errorf("%w: %d × %d pixels, and at most %d are decoded", ErrLarge, c.Width, c.Height, b.pixels)
	}
	b.pixels -= c.Width * c.Height
	in := &reader{data: data, budget: b}
	img, err := f.decode(in)
	if err != nil {
		return p, err
	}
	p = Picture{MIME: "image/png"}
	if mime == "image/gif" && len(in.data) > 0 && in.data[0] != ';' { // its trailer
		p.Note = "of an animation the first picture was passed on"
	}
	var out bytes.Buffer
	if _, photo := img.(*image.YCbCr); photo || mime == "image/jpeg" {
		p.MIME = "image/jpeg"
		err = jpeg.Encode(&out, img, &jpeg.Options{Quality: quality})
	} else {
		err = (&png.Encoder{CompressionLevel: level(c.Width * c.Height)}).Encode(&out, img)
	}
	p.Data = out.Bytes()
	return p, err
}

// withChecksums is a PNG whose chunks have the checksums that they should: those of some images that are shown
// everywhere are wrong, and nothing depends on them here.
func withChecksums(data []byte) []byte {
	const signature, head, sum = 8, 8, 4
	data = bytes.Clone(data)
	for at := signature; at+head+sum <= len(data); {
		size := uint64(binary.BigEndian.Uint32(data[at:]))
		if size > uint64(len(data)-at-head-sum) {
			break // what is cut short is the decoder's to refuse
		}
		end := at + head + int(size)
		binary.BigEndian.PutUint32(data[end:], crc32.ChecksumIEEE(data[at+4:end]))
		at = end + sum
	}
	return data
}

// level compresses well what is quickly compressed.
func level(pixels int) png.CompressionLevel {
	if pixels > 1<<20 {
		return png.BestSpeed
	}
	return png.DefaultCompression
}

// reader hands out little at once and gives up when the time is over: a few bytes of a progressive JPEG have its
// decoder go over all pixels again.
type reader struct {
	data   []byte
	budget *budget
}

func (r *reader) Read(p []byte) (int, error) {
	switch {
	case len(r.data) == 0:
		return 0, io.EOF
	case time.Now().After(r.budget.end):
		return 0, r.budget.slow
	}
	n := copy(p[:min(len(p), 256)], r.data)
	r.data = r.data[n:]
	return n, nil
}

// ReadByte has the GIF decoder read no further than it must, so that what follows can be told.
func (r *reader) ReadByte() (byte, error) {
	var p [1]byte
	_, err := r.Read(p[:])
	return p[0], err
}
