package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// run starts the command and waits for it. The end of stdin means that whoever started this is gone, however it went.
func run(patience time.Duration, pidFile string, command []string) int {
	// The parent-death signal is tied to the thread that started the child, so this thread must live as long as we do.
	runtime.LockOSThread()
	child := exec.Command(command[0], command[1:]...)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.SysProcAttr = attributes()
	if err := child.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "attend:", err)
		return 127
	}
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(child.Process.Pid)), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "attend:", err)
	}
	go stopWhenTold(child.Process, patience)
	return exitCode(child.Wait())
}

// A component without patience is killed at once: what it would save on the way out is thrown away anyhow.
func stopWhenTold(child *os.Process, patience time.Duration) {
	told := make(chan struct{}, 2)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		told <- struct{}{}
	}()
	signals := make(chan os.Signal, 1)
	// An interrupt of the terminal reaches the whole process group; the harness decides in which order things stop.
	signal.Ignore(os.Interrupt)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		told <- struct{}{}
	}()
	<-told
	if patience > 0 {
		_ = child.Signal(syscall.SIGTERM)
		time.Sleep(patience)
	}
	_ = child.Kill()
}

func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if code := exit.ExitCode(); code >= 0 {
			return code
		}
		return 128
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "attend:", err)
		return 1
	}
	return 0
}
