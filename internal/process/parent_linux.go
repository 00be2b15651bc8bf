package process

import "syscall"

// endWithParent has the program killed when we end; its children are not.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
