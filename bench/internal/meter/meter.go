// Package meter reads the cost of processes (CPU time, memory) and the other load of the machine
// from /proc. Without /proc it reports that nothing is known.
package meter

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// hertz is the number of /proc ticks per second; Linux shows 100 everywhere.
const hertz = 100

// CPU returns the CPU time of a process and of its ended children.
func CPU(pid int) time.Duration {
	_, ticks, ok := stat(pid)
	if !ok {
		return 0
	}
	return time.Duration(ticks) * time.Second / hertz
}

// Tree returns the CPU time of processes and of their running children.
func Tree(parents ...int) time.Duration {
	var ticks int64
	for _, n := range processes(parents) {
		ticks += n
	}
	return time.Duration(ticks) * time.Second / hertz
}

// stat reads the parent of a process and its CPU ticks.
func stat(pid int) (parent int, ticks int64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // the name before may contain anything
	if len(fields) < 15 {
		return 0, 0, false
	}
	parent, _ = strconv.Atoi(fields[1])
	for _, f := range fields[11:15] { // utime stime cutime cstime
		n, _ := strconv.ParseInt(f, 10, 64)
		ticks += n
	}
	return parent, ticks, true
}

// Memory returns the resident size of a process in bytes, now and at its highest.
func Memory(pid int) (now, highest int64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kib, _, _ := strings.Cut(strings.TrimSpace(value), " ")
		n, _ := strconv.ParseInt(kib, 10, 64)
		switch name {
		case "VmRSS":
			now = n << 10
		case "VmHWM":
			highest = n << 10
		}
	}
	return now, highest
}

// Noise measures the load of the machine by others than the benchmark: this process, its children
// and those of the given parents.
type Noise struct {
	total, busy int64
	parents     []int
	ours        map[int]int64 // ticks by process
}

// Listen starts the measurement; servers are the parents of processes that work for the benchmark
// but are not its children.
func Listen(servers ...int) Noise {
	total, busy := machine()
	parents := append([]int{os.Getpid()}, servers...)
	return Noise{total, busy, parents, processes(parents)}
}

// Share returns the part of the machine's time that others used since Listen, including other
// guests of the hypervisor. It is negative if unknown.
func (n Noise) Share() float64 {
	total, busy := machine()
	if total <= n.total {
		return -1
	}
	others := busy - n.busy
	for pid, ticks := range processes(n.parents) {
		others -= ticks - n.ours[pid]
	}
	return max(float64(others)/float64(total-n.total), 0)
}

// machine reads the number of ticks, and of those that were not idle.
func machine() (total, busy int64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, f := range strings.Fields(line) {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil || i > 8 { // the name; guests are counted in user already
			continue
		}
		total += n
		if i != 4 && i != 5 { // idle, waiting for the disk
			busy += n
		}
	}
	return total, busy
}

// processes reads the ticks of parents and of their children.
func processes(parents []int) map[int]int64 {
	list := make(map[int]int64)
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		parent, ticks, ok := stat(pid)
		if ok && (slices.Contains(parents, pid) || slices.Contains(parents, parent)) {
			list[pid] = ticks
		}
	}
	return list
}

// Parent returns the process that started another, or 0 if unknown.
func Parent(pid int) int {
	parent, _, _ := stat(pid)
	return parent
}
