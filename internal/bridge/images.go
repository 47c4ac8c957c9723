package bridge

import (
	"encoding/json"
	"fmt"
	"time"

	"codemode/internal/guest"
	"codemode/internal/picture"
)

// maxDecoding is what a run's images may take of codemode's time, but for one whose images are not collected.
const maxDecoding = 10 * time.Second

// display adds an image to its run. The guest waits for it, and for those of other sessions: one at a time is decoded.
func (l *live) display(params json.RawMessage) error {
	var d guest.Display
	if err := json.Unmarshal(params, &d); err != nil {
		return fmt.Errorf("%w: display: %v", guest.ErrProtocol, err)
	}
	r := l.runNumbered(d.Run)
	if r == nil || !r.wantsImage() {
		return nil
	}
	leave, err := l.bridge.pictures.Enter(l.ctx, l.session, 1)
	if err != nil {
		return nil // the guest is being ended
	}
	began := time.Now()
	p, err := picture.Clean(d.MIME, d.Data)
	took := time.Since(began)
	leave()
	r.show(d.MIME, p, err, took)
	return nil
}

// wantsImage reports whether a run may show one more.
func (r *run) wantsImage() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.over:
		return false
	case r.req.Display != nil:
		return true
	case len(r.images) == maxImages:
		r.noteLocked("an image was left out: a run may show %d", maxImages)
		return false
	case r.decoding > maxDecoding:
		r.noteLocked("an image was left out: decoding those of a run may take %v", maxDecoding)
		return false
	}
	return true
}

// show adds an image, if it is one.
func (r *run) show(mime string, p picture.Picture, err error, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decoding += took
	switch {
	case r.over:
		return
	case err != nil:
		r.noteLocked("something displayed as %.40q is no such image and was left out: %v", mime, err)
		return
	case r.req.Display != nil:
		r.req.Display(p.MIME, p.Data)
	case r.imageBytes+len(p.Data) > maxImageBytes:
		r.noteLocked("an image of %d bytes was left out: a run may show %d bytes", len(p.Data), maxImageBytes)
		return
	default:
		r.imageBytes += len(p.Data)
		r.images = append(r.images, Image{MIME: p.MIME, Data: p.Data})
	}
	if p.Note != "" {
		r.noteLocked("%s", p.Note)
	}
}
