package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const groups = "/sys/fs/cgroup"

// controllers of cgroup v1 that kubelet wants; each is a hierarchy of its own.
var controllers = []string{"cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "systemd"}

// wanted are those of cgroup v2; of a machine's others nobody here needs to know.
var wanted = []string{"cpu", "cpuset", "hugetlb", "io", "memory", "pids"}

func unified() bool {
	const magic = 0x63677270
	var fs syscall.Statfs_t
	return syscall.Statfs(groups, &fs) == nil && fs.Type == magic
}

// enterGroups puts this process into the node's groups, so that a cgroup namespace made now begins there. What it gives back leaves them again:
// with cgroup v2 a group that is divided further has no processes of its own.
func enterGroups(group string) (func() error, error) {
	if unified() {
		parent := filepath.Dir(group)
		if err := delegate(groups, group); err != nil {
			return nil, err
		}
		outside := filepath.Join(groups, parent, "outside")
		if err := os.MkdirAll(outside, 0o755); err != nil {
			return nil, err
		}
		return func() error { return enter(outside) }, enter(filepath.Join(groups, group))
	}
	for _, name := range controllers {
		folder, err := makeV1(name, group)
		if err != nil {
			return nil, err
		}
		if err := enter(folder); err != nil {
			return nil, err
		}
	}
	return func() error { return nil }, nil
}

func enter(folder string) error {
	return os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
}

// makeV1 makes a group of one controller. cpusets are made empty, and an empty one holds nobody.
func makeV1(controller, group string) (string, error) {
	folder := filepath.Join(groups, controller)
	for _, part := range strings.Split(group, "/") {
		above := folder
		folder = filepath.Join(folder, part)
		if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return "", err
		}
		if controller != "cpuset" {
			continue
		}
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(above, file))
			if err != nil {
				return "", err
			}
			if err := os.WriteFile(filepath.Join(folder, file), value, 0); err != nil {
				return "", err
			}
		}
	}
	return folder, nil
}

// delegate makes a group of cgroup v2 and hands every controller down to it.
func delegate(root, group string) error {
	folder := root
	for _, part := range strings.Split(group, "/") {
		if err := divide(folder); err != nil {
			return err
		}
		folder = filepath.Join(folder, part)
		if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// divide hands the controllers of a group on to the groups in it.
func divide(folder string) error {
	available, err := os.ReadFile(filepath.Join(folder, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(string(available)) {
		if !slices.Contains(wanted, name) {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, "cgroup.subtree_control"), []byte("+"+name), 0); err != nil {
			return fmt.Errorf("controller %s of %s: %w", name, folder, err)
		}
	}
	return nil
}

// settleV2 moves the node's first process into a leaf and divides the node's group, as soon as whoever started it has left.
func settleV2() error {
	leaf := filepath.Join(groups, "init")
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := enter(leaf); err != nil {
		return err
	}
	var err error
	for range 100 {
		if err = divide(groups); !errors.Is(err, syscall.EBUSY) {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return err
}
