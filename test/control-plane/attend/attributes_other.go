//go:build !linux

package main

import "syscall"

// Only Linux has a signal for the death of a parent; elsewhere the end of stdin is what stops a component.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
