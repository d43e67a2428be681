package dispatch_test

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"claviger/internal/sqldb/sqldbtest"
)

// cpu returns the processor time of this process, and of the PostgreSQL that script/with-postgres
// starts, as far as the system reports it.
func cpu() time.Duration { return processCPU() + serverCPU() }

func serverCPU() time.Duration {
	u, err := url.Parse(os.Getenv(sqldbtest.Variable))
	if err != nil {
		return 0
	}
	text, err := os.ReadFile(filepath.Join(u.Query().Get("host"), "data", "postmaster.pid"))
	if err != nil {
		return 0
	}
	postmaster, _, _ := strings.Cut(string(text), "\n")
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var ticks int64
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if f := strings.Fields(rest); len(f) > 12 && f[1] == postmaster {
			user, _ := strconv.ParseInt(f[11], 10, 64)
			system, _ := strconv.ParseInt(f[12], 10, 64)
			ticks += user + system
		}
	}
	const perSecond = 100 // USER_HZ, the same on every Linux
	return time.Duration(ticks) * time.Second / perSecond
}

var profiles = flag.String("profiles", "", "a folder for CPU profiles of what benchmarks measure, without what they prepare")

// profiled writes a CPU profile until done is called.
func profiled(b *testing.B) (done func()) {
	b.Helper()
	if *profiles == "" {
		return func() {}
	}
	f, err := os.CreateTemp(*profiles, fmt.Sprintf("%s.*.prof", strings.ReplaceAll(b.Name(), "/", "-")))
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		b.Fatal(err)
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			b.Error(err)
		}
	}
}
