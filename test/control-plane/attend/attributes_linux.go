package main

import "syscall"

// In its own process group an interrupt of the terminal does not reach the component; should attend itself be killed, the kernel takes it along.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
