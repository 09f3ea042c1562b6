package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

func initialize(c config) error {
	if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		return err
	}
	root := filepath.Join(c.Folder, "root")
	for _, step := range []func() error{
		func() error { return makeDisk(c, root) },
		func() error { return connect(c) },
		func() error { return mountAll(c, root) },
		func() error { return maskKernel(c, root) },
		func() error { return syscall.Sethostname([]byte(c.Name)) },
		// It heeds the signals of systemd, and is known by its name.
		func() error { return os.WriteFile("/proc/self/comm", []byte("systemd"), 0) },
		func() error { return enterRoot(root) },
		func() error { return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if unified() {
		if err := settleV2(); err != nil {
			return err
		}
	}
	return run(c.Services)
}

func connect(c config) error {
	for range 200 {
		if _, err := net.InterfaceByName("eth0"); err == nil {
			for _, args := range c.Network {
				if err := command("ip", args...); err != nil {
					return err
				}
			}
			return nil
		}
		time.Sleep(25 * time.Millisecond)
	}
	return fmt.Errorf("no link in five seconds")
}

// importImages hands the archives to containerd, each once: a reboot finds them on the disk. Those of later need nothing but a reboot.
func importImages() error {
	archives, err := filepath.Glob("/opt/images/*.tar")
	if err != nil {
		return err
	}
	for _, archive := range archives {
		mark := "/var/lib/containerd/imported." + filepath.Base(archive)
		if _, err := os.Stat(mark); err == nil {
			continue
		}
		if err := command("ctr", "-n", "k8s.io", "images", "import", archive); err != nil {
			return err
		}
		if err := os.WriteFile(mark, nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func containerdReady() error {
	var err error
	for range 300 {
		if err = exec.Command("ctr", "version").Run(); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("containerd does not serve: %w", err)
}
