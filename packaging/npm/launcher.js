#!/usr/bin/env node
// Starts the codemode of this platform, which is in a package of its own, as if it had been started itself: with the
// same arguments, environment, standard streams and signals, and the same end.
"use strict";

const name = `codemode-${process.platform}-${process.arch}`;

function find() {
  try {
    return require.resolve(`${name}/codemode${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    fail(`the package ${name} is not installed`, `npm install -g codemode, without --omit=optional; \
there are packages for linux and darwin on x64 and arm64, and for win32 on x64`);
  }
}

function fail(text, hint) {
  process.stderr.write(`codemode: error: ${text}\ncodemode: hint: ${hint}\n`);
  process.exit(125); // as codemode exec says that it could not run anything
}

const program = find();
const args = process.argv.slice(2);

// Node.js 22.15 and later can become the program (nodejs.org/api/process.html#processexecvefile-args-env, read
// 2026-11-22): nothing stays in between.
if (process.execve && process.platform !== "win32") {
  process.execve(program, ["codemode", ...args], process.env);
}

// A terminal sends the signals of its keys to all of its processes, so the program has them; any other sender means
// the program by its launcher. What comes while the program starts is handled when it has.
let child;
const keys = hasTerminal() ? ["SIGINT", "SIGQUIT"] : [];
for (const signal of ["SIGINT", "SIGQUIT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"]) {
  process.on(signal, () => keys.includes(signal) || child.kill(signal));
}
child = require("node:child_process").spawn(program, args, { stdio: "inherit", argv0: "codemode" });

function hasTerminal() {
  try {
    const fs = require("node:fs");
    fs.closeSync(fs.openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}

child.on("error", (err) => fail(`starting ${program}: ${err.message}`, "npm install -g codemode, once more"));
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    setTimeout(() => process.exit(1), 1000); // a signal that does not end Node.js
    return;
  }
  process.exit(code);
});
