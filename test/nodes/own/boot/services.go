package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"
)

type service struct {
	Name    string
	Command []string
}

// reboot is the signal by which systemd is told to: SIGRTMIN+5, systemd(1). The node goes off, and whoever has switched it on does so again.
const reboot = syscall.Signal(39)

// supervisor is the only one that waits for processes once it runs: what loses its parent in a node comes to it as well.
type supervisor struct {
	pids map[string]int
}

func stopped(name string) bool {
	_, err := os.Stat("/opt/control/stopped." + name)
	return err == nil
}

func (s *supervisor) start(one service) error {
	path, err := exec.LookPath(one.Command[0])
	if err != nil {
		return err
	}
	log, err := os.OpenFile("/var/log/"+one.Name+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	process, err := os.StartProcess(path, one.Command, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{nil, log, log}})
	if err != nil {
		return err
	}
	s.pids[one.Name] = process.Pid
	return process.Release()
}

func (s *supervisor) reap() {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err != nil || pid <= 0 {
			return
		}
		for name, one := range s.pids {
			if one == pid {
				fmt.Println(time.Now().UTC().Format(time.TimeOnly), name, "ended")
				delete(s.pids, name)
			}
		}
	}
}

// tick brings every service into the state that is wanted of it.
func (s *supervisor) tick(services []service) error {
	s.reap()
	for _, one := range services {
		pid, runs := s.pids[one.Name]
		if stopped(one.Name) && runs {
			// A service manager would wait; nobody does here, and kubelet has nothing to save.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		} else if !stopped(one.Name) && !runs {
			if err := s.start(one); err != nil {
				return err
			}
		}
	}
	return nil
}

// run starts containerd, the first of the services, fills it with images, and then keeps all of them running until it is told to end.
func run(services []service) error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, reboot)
	s := &supervisor{pids: map[string]int{}}
	if err := s.start(services[0]); err != nil {
		return err
	}
	if err := containerdReady(); err != nil {
		return err
	}
	if err := importImages(); err != nil {
		return err
	}
	for {
		if err := s.tick(services); err != nil {
			return err
		}
		select {
		case <-ended:
			return shutDown()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// shutDown ends everything as a system does that was told to: SIGTERM, five seconds, SIGKILL by the end of the first process.
func shutDown() error {
	_ = syscall.Kill(-1, syscall.SIGTERM)
	for range 50 {
		if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}
