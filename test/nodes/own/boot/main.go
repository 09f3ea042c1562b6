// Command boot is the firmware and the init of a node of the tests:
//
//	boot start CONFIG
//	    gives the node cgroups, namespaces and a link to the bridge, starts its first process, and lives as long as that
//	boot init CONFIG
//	    is that first process: root folder, network, containerd, images, and then the services, again when they end
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

type config struct {
	Name string
	// Folder holds the node's disk (root), its boot ID, and control: a file stopped.SERVICE there keeps a service from running.
	Folder string
	// Mounts are folders of this machine by where the node has them.
	Mounts map[string]string
	Cgroup string
	Bridge string
	Link   string
	// Commands of ip that are run in the node's network.
	Network [][]string
	// Files of the root folder, written anew at each boot.
	Files    map[string]string
	Services []service
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: boot start|init CONFIG")
		os.Exit(2)
	}
	var c config
	text, err := os.ReadFile(os.Args[2])
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil {
		if os.Args[1] == "init" {
			err = initialize(c)
		} else {
			err = start(c, os.Args[2])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "boot:", err)
		os.Exit(1)
	}
}

func start(c config, file string) error {
	// The parent-death signal is tied to the thread that started the child.
	runtime.LockOSThread()
	leave, err := enterGroups(c.Cgroup)
	if err != nil {
		return err
	}
	child := exec.Command("/proc/self/exe", "init", file)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWCGROUP | syscall.CLONE_NEWNS | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET,
		// Without it a node would outlive a test that was killed.
		Pdeathsig: syscall.SIGKILL,
	}
	if err := child.Start(); err != nil {
		return err
	}
	if err := leave(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.Folder, "pid"), []byte(strconv.Itoa(child.Process.Pid)), 0o644); err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		for range signals {
			_ = child.Process.Signal(syscall.SIGTERM)
		}
	}()
	// The link belongs to the node's network namespace, and goes with it.
	if err := command("ip", "link", "add", c.Link, "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(child.Process.Pid)); err != nil {
		return err
	}
	if err := command("ip", "link", "set", c.Link, "master", c.Bridge, "up"); err != nil {
		return err
	}
	return child.Wait()
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
