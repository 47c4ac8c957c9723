package container

import (
	"context"
	"errors"
	"time"

	"codemode/internal/sandbox"
)

// Image is the runtime's image in the engine's store.
type Image struct{ r *Runtime }

// Image returns the image that containers are made from.
func (r *Runtime) Image() Image { return Image{r} }

// Name is as configured.
func (i Image) Name() string { return i.r.opts.Image }

// Present tells whether the engine has the image.
func (i Image) Present(ctx context.Context) (bool, error) {
	e, err := i.r.ready(ctx)
	if err != nil {
		return false, err
	}
	_, err = e.ask(ctx, "image", "inspect", "--format", "{{.Id}}", i.r.opts.Image)
	if err == nil {
		return true, nil
	}
	err = e.diagnose("looking for image "+i.r.opts.Image, err)
	var unavailable *sandbox.UnavailableError
	if errors.As(err, &unavailable) && unavailable.Code == "image-missing" {
		return false, nil
	}
	return false, err
}

// Pull fetches the image, also where the engine has an older one of that name. progress gets the engine's
// own words, line by line; nil is nobody. It takes as long as it takes: ctx alone bounds it.
func (i Image) Pull(ctx context.Context, progress func(line string)) error {
	e, err := i.r.ready(ctx)
	if err != nil {
		return err
	}
	if progress == nil {
		progress = func(string) {}
	}
	begin := time.Now()
	if _, err := e.run(ctx, progress, append(e.global, "pull", i.r.opts.Image)...); err != nil {
		err = e.diagnose("pulling image "+i.r.opts.Image, err)
		if unavailable, ok := errors.AsType[*sandbox.UnavailableError](err); ok && unavailable.Code == codeEngine {
			unavailable.Remedy = []string{"Check the image's name, and that its registry can be reached."}
		}
		return err
	}
	i.r.log.Debug("image pulled", "image", i.r.opts.Image, "took", time.Since(begin))
	return nil
}
