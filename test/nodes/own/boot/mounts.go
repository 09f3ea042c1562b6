package main

import (
	"os"
	"path/filepath"
	"syscall"
)

// folders of a node's root beside those of its files; of the machine it has /usr (read-only) and /dev alone.
var folders = []string{"usr", "etc", "var/lib/kubelet", "var/lib/containerd", "var/log", "run", "tmp", "proc", "sys", "dev", "root", "old"}

// kept are settings of the kernel that kubelet sets for its machine: here it sets a file.
var kept = []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"}

func makeDisk(c config, root string) error {
	for _, folder := range folders {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(root, "tmp"), 0o1777); err != nil {
		return err
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+name, filepath.Join(root, name)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	if err := os.Symlink("../run", filepath.Join(root, "var/run")); err != nil && !os.IsExist(err) {
		return err
	}
	for name, text := range c.Files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		// Everybody reads who the users are.
		if err := os.Chmod(file, 0o644); err != nil {
			return err
		}
	}
	return nil
}

type mount struct {
	from, to, kind string
	flags          uintptr
	data           string
}

func mounts(c config, root string) []mount {
	all := []mount{
		{root, "", "", syscall.MS_BIND | syscall.MS_REC, ""},
		{"/usr", "usr", "", syscall.MS_BIND, ""},
		{"", "usr", "", syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY, ""},
		{filepath.Join(c.Folder, "control"), "opt/control", "", syscall.MS_BIND, ""},
		{"proc", "proc", "proc", 0, ""},
		{"sysfs", "sys", "sysfs", 0, ""},
		{"/dev", "dev", "", syscall.MS_BIND | syscall.MS_REC, ""},
		{"tmpfs", "run", "tmpfs", 0, "mode=755"},
	}
	for to, from := range c.Mounts {
		all = append(all, mount{from, to, "", syscall.MS_BIND, ""})
	}
	if unified() {
		return append(all, mount{"cgroup2", "sys/fs/cgroup", "cgroup2", 0, ""})
	}
	all = append(all, mount{"tmpfs", "sys/fs/cgroup", "tmpfs", 0, "mode=755"})
	for _, name := range controllers {
		data := name
		if name == "systemd" {
			data = "none,name=systemd"
		}
		all = append(all, mount{"cgroup", "sys/fs/cgroup/" + name, "cgroup", 0, data})
	}
	return all
}

func mountAll(c config, root string) error {
	for _, m := range mounts(c, root) {
		to := filepath.Join(root, m.to)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(m.from, to, m.kind, m.flags, m.data); err != nil {
			return &os.PathError{Op: "mount", Path: to, Err: err}
		}
	}
	return nil
}

// maskKernel puts files of the node's in the place of what it shares with its machine, its boot ID among them.
func maskKernel(c config, root string) error {
	for _, name := range kept {
		value, err := os.ReadFile("/proc/sys/" + name)
		if err != nil {
			return err
		}
		file := filepath.Join(root, "run/sysctl", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, value, 0o644); err != nil {
			return err
		}
		if err := syscall.Mount(file, filepath.Join(root, "proc/sys", name), "", syscall.MS_BIND, ""); err != nil {
			return err
		}
	}
	return syscall.Mount(filepath.Join(c.Folder, "boot_id"), filepath.Join(root, "proc/sys/kernel/random/boot_id"), "", syscall.MS_BIND, "")
}

func enterRoot(root string) error {
	if err := syscall.PivotRoot(root, filepath.Join(root, "old")); err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := syscall.Unmount("/old", syscall.MNT_DETACH); err != nil {
		return err
	}
	// kubelet passes mounts on to containers and back.
	return syscall.Mount("", "/", "", syscall.MS_SHARED|syscall.MS_REC, "")
}
