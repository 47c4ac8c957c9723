package sandbox

// UseMethod has a native runtime make namespaces in one way only.
func UseMethod(rt Runtime, method string) {
	n := rt.(*native)
	n.remember(method)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.report = nil // of another method
}

// PID is the process of a native sandbox, as the host sees it.
func PID(sb Sandbox) int { return sb.(*nativeSandbox).pid }

// UseMethodOf has programs make namespaces in one way only.
func UseMethodOf(p *Programs, method string) { p.native.remember(method) }

// ReaperPID is the process that watches over a native sandbox.
func ReaperPID(sb Sandbox) int { return sb.(*nativeSandbox).reaper.PID() }
