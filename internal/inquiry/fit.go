package inquiry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"codemode/internal/visible"
)

const (
	maxMisfit     = 400 // bytes of what is said of that which does not fit in a form
	maxFormFields = 200 // each of which takes some 0.1 ms to judge
)

// checkForm refuses a form whose answer would be dropped once its user has given it: the SDK (v1.8.0) looks at a form
// only then. What it would do it is asked itself, of each field left as it stands, for a copy of its rules would be
// other rules one day. A format it judges by its name alone.
func checkForm(form json.RawMessage) error {
	whole, filled := map[string]json.RawMessage{}, map[string]any{}
	if err := json.Unmarshal(form, &whole); err != nil {
		return misfit("its form", err)
	}
	fields := gjson.GetBytes(form, "properties")
	named := fields.Map()
	for _, name := range gjson.GetBytes(form, "required").Array() {
		if filled[name.String()] = ""; !named[name.String()].Exists() {
			return misfit("its form", fmt.Errorf("it requires %.60q, and has no such field", name.String()))
		}
	}
	if fields.IsObject() {
		delete(whole, "properties")
	}
	j, err := newJudge()
	if err != nil {
		return err
	}
	defer j.session.Close()
	if err := j.judge(whole, filled); err != nil {
		return misfit("its form", err)
	}
	n := 0
	fields.ForEach(func(name, field gjson.Result) bool {
		if n++; n > maxFormFields {
			err = fmt.Errorf("its form has more than %d fields", maxFormFields)
			return false
		}
		if err = cmp.Or(contradiction(field), j.judgeField(name.String(), field)); err != nil {
			err = misfit(fmt.Sprintf("the field %.60q of its form", name.String()), err)
		}
		return err == nil
	})
	return err
}

// contradiction is why nothing fits a field, as far as its limits and choices say so: what is left out fits the SDK.
func contradiction(field gjson.Result) error {
	kind, of := field.Get("type").Str, field
	if kind == "array" {
		of = field.Get("items")
	}
	least, most := field.Get("minimum"), field.Get("maximum")
	fits := slices.ContainsFunc(choices(of), func(c choice) bool { return lengthFits(of, c.value) == nil })
	switch atLeast := field.Get("minItems").Int(); {
	case kind == "integer" && least.Exists() && most.Exists() && math.Ceil(least.Num) > math.Floor(most.Num):
		return fmt.Errorf("no whole number is from %.60s to %.60s", least.Raw, most.Raw)
	case kind == "array" && field.Get("maxItems").Exists() && atLeast > field.Get("maxItems").Int():
		return errors.New("minItems is more than maxItems")
	case (kind == "string" || kind == "array" && atLeast > 0) && hasChoices(of) && !fits:
		return errors.New("none of its choices fits")
	}
	return nil
}

func misfit(what string, why error) error {
	return fmt.Errorf("%s takes no answer, or not its own default: %s",
		what, visible.Line(visible.Clip(why.Error(), maxMisfit)))
}

// A judge is the SDK with nobody at its other end, and answers that are there as soon as they are wanted.
type judge struct{ session *mcp.ServerSession }

type contentKey struct{}

func newJudge() (judge, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "codemode"}, nil)
	server.AddSendingMiddleware(func(mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, _ string, _ mcp.Request) (mcp.Result, error) {
			content, _ := ctx.Value(contentKey{}).(map[string]any)
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		}
	})
	nobody, _ := mcp.NewInMemoryTransports()
	session, err := server.Connect(context.Background(), nobody, &mcp.ServerSessionOptions{
		State: &mcp.ServerSessionState{
			InitializeParams:  &mcp.InitializeParams{Capabilities: PersonCan()},
			InitializedParams: &mcp.InitializedParams{},
		},
	})
	return judge{session}, err
}

// judge is what the SDK makes of an answer to a form. It takes what is in a form for what it should be: of a list of
// choices, that none is null (v1.8.0).
func (j judge) judge(form any, content map[string]any) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = errors.New("something in it is null that cannot be")
		}
	}()
	ctx := context.WithValue(context.Background(), contentKey{}, content)
	_, err = j.session.Elicit(ctx, &mcp.ElicitParams{Mode: "form", RequestedSchema: form})
	return err
}

func (j judge) judgeField(name string, field gjson.Result) error {
	content := map[string]any{}
	if filled := field.Get("default"); filled.Exists() {
		var value any
		if err := json.Unmarshal([]byte(filled.Raw), &value); err != nil {
			return err
		}
		content[name] = value
	}
	fields := map[string]json.RawMessage{name: json.RawMessage(field.Raw)}
	return j.judge(map[string]any{"type": "object", "properties": fields}, content)
}
