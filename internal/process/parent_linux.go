package process

import "syscall"

// endWithParent makes the kernel kill the program when we end; its children are not killed.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
