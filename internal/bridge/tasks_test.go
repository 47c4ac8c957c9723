package bridge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStart is about calls that code starts and goes on beside, of a tool that answers with a task and of one that does
// not.
func TestStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "seen")
	k := newKit(t, func(o *Options) { o.Config.Policy.Deny = []string{"fake.add"} },
		fake("far", "-modern", "-tasks", file), fake("fake"))
	for code, result := range map[string]string{
		"task = mcp_far.long.start(how='done')\nprint(task.status, task.done())\nawait task, task.status, await task.result()": "working False\n" +
			"result: ('at last', 'completed', 'at last')",
		"task = mcp_fake.echo.start(message='a')\nawait task, (await task.raw())['content'][0]['text'], task.status": "result: ('a', 'a', 'completed')",
		"import time\ntask = mcp_fake.echo.start(message='a')\nwhile not task.done(): time.sleep(0.01)\ntask":        "result: <task mcp_fake.echo.start(…): completed>",
		"await runtime.start_tool('fake', 'echo', {'message': 'a'})":                                                 "result: 'a'",
		"await mcp_servers['fake']['echo'].start(message='a')":                                                       "result: 'a'",
		"from mcp.servers.fake import echo\nawait asyncio.gather(*(echo.start(message=str(n)) for n in range(3)))":   "result: ['0', '1', '2']",
		"task = mcp_far.long.start(how='forever')\ntry:\n    await asyncio.wait_for(task, 0.05)\nexcept asyncio.TimeoutError: pass\n" +
			"while not task.message: await asyncio.sleep(0.01)\nprint(task.status, task.message[:4], task.cancel(), task.cancel())\n" +
			"try:\n    await task\nexcept mcp.MCPError as error: print(task.status, error)": "working step True False\n" +
			"cancelled mcp_far.long.start(…): it was cancelled\ncalls that were sent and not answered, whose outcome is unknown:\n" +
			`  far.long {"how":"forever"}`,
		"try:\n    await mcp_far.long.start(how='fail')\nexcept mcp.ToolError as error: print(error, error.code)":       "it broke -32603",
		"task = mcp_fake.add.start(a=1, b=2)\ntry: await task\nexcept mcp.PolicyError as e: print(task.status, e.rule)": "failed deny:fake.add",
		"import threading\nseen = []\ntask = mcp_fake.echo.start(message='a')\nimport asyncio\n" +
			"t = threading.Thread(target=lambda: seen.append(asyncio.run(task.result())))\nt.start(); t.join()\nseen": "result: ['a']",
	} {
		want(t, k.text("import mcp\n"+code), result)
	}
	contains(t, k.text("mcp_fake.echo.start(massage='a')"), "TypeError", "massage")
	contains(t, k.text("mcp_fake.nothing.start()"), "server 'fake' has no tool 'nothing'")
	contains(t, k.text("mcp_far.long.start(how='fail')\nawait asyncio.sleep(0.5)"),
		"`mcp_far.long.start(…)` failed, which no code has looked at: it broke")
}

// TestStartedIsLeft holds that what was started ends with its run, and its server is told.
func TestStartedIsLeft(t *testing.T) {
	file := filepath.Join(t.TempDir(), "seen")
	k := newKit(t, nil, fake("far", "-modern", "-tasks", file))
	got := k.text("task = mcp_far.long.start(how='forever')\nwhile not task.message: await asyncio.sleep(0.01)\n")
	contains(t, got, "note: cancelled `mcp_far.long.start(…)`, still working at the end: `await` the task in the code")
	k.eventually("the server is told", func() bool {
		data, _ := os.ReadFile(file)
		return strings.HasSuffix(string(data), "tasks/cancel forever\n")
	})
	want(t, k.text("task.status"), "result: 'cancelled'")
}
