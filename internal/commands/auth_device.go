package commands

import (
	"context"
	"fmt"
	"time"

	"codemode/internal/hint"
	"codemode/internal/signin"
	"codemode/internal/visible"
)

// confirmElsewhere has the user agree to a page that is not of the host that asks for a code, before they see the code
// to type there. Where nobody is there to tell whether the two belong together, it is a no.
func confirmElsewhere(ctx context.Context, env Env, server string, code signin.DeviceCode) error {
	warning := code.Warning(visible.Name(server))
	if warning == "" {
		return nil
	}
	refused := func(why string) error {
		return &exitError{exitRefused, hint.New(
			fmt.Sprintf("%s: no code was shown, and nobody is signed in to %q. %s", why, server, oneLine(warning)),
			"if the two belong together, sign in at a terminal: codemode auth login "+hint.Word(server)+" --device",
		)}
	}
	asks := openTerminal(env, newScreen(env.Stdout, env.Stderr))
	if asks == nil {
		return refused("there is no terminal to ask on")
	}
	defer asks.close()
	text := fmt.Sprintf("the server %s wants a code typed at %s\n%s",
		visible.Name(server), oneLine(code.Page), oneLine(warning))
	yes, err := asks.agreed(ctx, text, "see a code for "+oneLine(code.Elsewhere))
	if err == nil && !yes {
		return refused("the user said no")
	}
	return err
}

// showCode says where which code is to be typed, and who asks for it.
func showCode(ui *ui, server string, code signin.DeviceCode) {
	ui.note("auth", fmt.Sprintf("the authorization server of %q is %s", server, oneLine(code.Authority)))
	ui.note("auth", fmt.Sprintf("sign in to %q here, on any device:", server))
	ui.raw(oneLine(code.Page) + "\n")
	ui.note("auth", "and type this code there:")
	ui.raw(oneLine(code.Code) + "\n")
}

// showWaiting says that a code is waited for, and until when.
func showWaiting(ctx context.Context, ui *ui, server string) {
	waiting := "waiting for the code to be typed"
	if ends, ok := ctx.Deadline(); ok {
		waiting += ", which is good for " + time.Until(ends).Round(time.Second).String()
	}
	if ui.live {
		ui.waiting(server, waiting)
	} else {
		ui.note("auth", waiting)
	}
}
