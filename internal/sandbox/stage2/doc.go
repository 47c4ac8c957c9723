// Package stage2 is the second stage of the native runtime: what codemode-sandbox, or
// codemode executed again, does inside the new namespaces, before it becomes Python, or an MCP server.
//
// It owns the order of the steps from an empty mount namespace to execve, and fails closed: a step that
// does not succeed ends the process, but for the few whose comments say otherwise. It never returns to
// its importer, and it imports nothing but the standard library and x/sys, so that its init runs before
// almost every other package's. The parent that started it waits for it and frees what it made.
package stage2
