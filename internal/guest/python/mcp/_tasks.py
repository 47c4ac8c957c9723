"""Calls that code has started and goes on beside: `task = mcp_x.tool.start(…)`."""

from ._errors import MCPError, from_remote
from ._values import is_error, value_of

_CANCELLED = -32002  # of docs/protocol.md
_CUT = 200  # characters of what a failed task says in a note


class Task:
    """A call under way. `await task` returns its value, task.raw() the untouched result; both raise as the call would.

    status: working, input_required (its server waits for the user), completed, failed or cancelled. progress, total,
    message: what the server has said last. To stop waiting stops no task; task.cancel() does, and so does the end of
    the run.
    """

    __module__ = "mcp"

    def __init__(self, server, tool, arguments):
        self._server = server.name
        self._label = f"mcp_{server.alias}.{tool.alias}.start(…)"
        self._tool = tool
        self._arguments = arguments
        self._said = {}  # guest.Progress
        self._pending = None  # until the request is sent
        self._seen = False

    @property
    def status(self):
        if self._pending is None or self._pending.answer is None:
            return self._said.get("status") or "working"
        error = self._pending.answer.get("error")
        if error is not None:
            return "cancelled" if error.get("code") == _CANCELLED else "failed"
        result = self._pending.answer.get("result")
        return "failed" if isinstance(result, dict) and is_error(result) else "completed"

    @property
    def progress(self):
        return self._said.get("progress")

    @property
    def total(self):
        return self._said.get("total")

    @property
    def message(self):
        return self._said.get("message")

    def done(self):
        """Whether it has ended, in one way or another."""
        return self._pending.answer is not None

    def cancel(self):
        """Stop it, and have its server told; returns whether it was still going on."""
        self._seen = True
        return self._pending.cancel()

    async def result(self):
        """Return its value, as the call would, when it has ended."""
        return value_of(await self.raw(), self._server, self._tool, self._arguments)

    async def raw(self):
        """Return the result as the server sent it, when the task has ended."""
        answer = await self._pending.wait()
        self._seen = True
        return self._result(answer)

    def __await__(self):
        return self.result().__await__()

    def _result(self, answer):
        error = answer.get("error")
        if error is None:
            return answer.get("result")
        if error.get("code") == _CANCELLED:
            raise MCPError(f"{self._label}: {error.get('message')}")
        from codemode_guest.channel import RemoteError

        remote = RemoteError(error.get("code"), error.get("message", ""), error.get("data"))
        raise from_remote(remote, self._server, self._tool, self._arguments) or remote

    def _failure(self):
        """What has gone wrong that nobody has looked at, or None."""
        if self._seen or self.status != "failed":
            return None
        try:
            value_of(self._result(self._pending.answer), self._server, self._tool, self._arguments)
        except Exception as error:
            text = str(error)
            return text if len(text) <= _CUT else text[:_CUT] + "…"
        return None

    def __repr__(self):
        steps = "" if self.progress is None else f", {self.progress:g}"
        if steps and self.total:
            steps += f" of {self.total:g}"
        return f"<task {self._label}: {self.status}{steps}{f': {self.message}' if self.message else ''}>"


class Tasks:
    """The tasks of a run."""

    def __init__(self):
        self._tasks = {}  # in the order of their start; a set forgets that

    def start(self, channel, server, tool, arguments):
        task = Task(server, tool, arguments)

        def ended():
            if task.status != "failed":  # else end_run tells, if nobody has looked
                self._tasks.pop(task, None)

        self._tasks[task] = None
        params = {"server": server.name, "tool": tool.name, "arguments": arguments, "progress": True}
        try:
            task._pending = channel.begin("tools/call", params, task._said.update, ended)
        except BaseException:
            self._tasks.pop(task, None)
            raise
        return task

    def end_run(self):
        """Cancel what is still going on. Notes: of that, and of what has failed unseen."""
        tasks, self._tasks = list(self._tasks), {}
        failed = {task._label: failure for task in tasks for failure in [task._failure()] if failure}
        left = dict.fromkeys(task._label for task in tasks if task._pending is not None and task.cancel())
        notes = [f"cancelled `{label}`, still working at the end: `await` the task in the code" for label in left]
        return notes + [f"`{label}` failed, which no code has looked at: {text}" for label, text in failed.items()]
