package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"codemode/internal/fair"
	"codemode/internal/guest"
	"codemode/internal/picture"
)

// imageGarbage is how much memory the decoding of an image leaves to be collected, for each of its bytes. A drawing's
// text takes the most: five of 4 MB had 200 MB of codemode's.
const imageGarbage = 10

// maxDecoding is what a run's images may take of codemode's time, but for one whose images are not collected.
const maxDecoding = 10 * time.Second

// display adds an image to its run. The guest waits for it.
func (l *live) display(params json.RawMessage) error {
	var d guest.Display
	if err := json.Unmarshal(params, &d); err != nil {
		return fmt.Errorf("%w: display: %v", guest.ErrProtocol, err)
	}
	r := l.runNumbered(d.Run)
	if r == nil || !r.wantsImage() {
		return nil
	}
	p, took, err := l.bridge.pictures.clean(l.ctx, l.session, d.MIME, d.Data)
	l.pace.count(took, l.bridge.readings.runs.Users())
	l.bridge.readings.discard(imageGarbage * len(d.Data))
	if l.ctx.Err() == nil {
		r.show(d.MIME, p, err, took)
	}
	return nil
}

// pictures are the queues of who decodes images, one at a time in each. One that is large may take seconds and hold
// hundreds of megabytes; who shows a small one does not wait for it.
type pictures []pictureQueue

type pictureQueue struct {
	queue  *fair.Queue
	limits picture.Limits
}

func newPictures() pictures {
	return pictures{{fair.New(1, 0), picture.Tiny}, {fair.New(1, 0), picture.Small}, {fair.New(1, 0), picture.Large}}
}

// clean decodes an image in the turn of its session. What it took is without the wait.
func (q pictures) clean(
	ctx context.Context, session, mime string, data []byte,
) (p picture.Picture, took time.Duration, err error) {
	for _, q := range q {
		leave, no := q.queue.Enter(ctx, session, 1)
		if no != nil {
			return p, took, no
		}
		began := time.Now()
		p, err = picture.Clean(mime, data, q.limits)
		took += time.Since(began)
		leave()
		if !errors.Is(err, picture.ErrLarge) {
			break
		}
	}
	return p, took, err
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
