//go:build unix

package e2e_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// imageConfig is the configuration of a built image.
type imageConfig struct {
	Config struct {
		User         string
		Env          []string
		Entrypoint   []string
		Cmd          []string
		WorkingDir   string
		ExposedPorts map[string]struct{}
		Volumes      map[string]struct{}
		Healthcheck  struct{ Test []string }
	} `json:"config"`
}

// buildah runs buildah with its own store, without a daemon and registries.
func buildah(t *testing.T, store string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), deployTool(t, "buildah"),
		append([]string{"--root", store + "/store", "--runroot", store + "/run", "--storage-driver", "vfs"}, args...)...)
	cmd.Env = append(os.Environ(), "BUILDAH_ISOLATION=chroot", "BUILDAH_FORMAT=docker")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("buildah %s: %v\n%s%s", strings.Join(args, " "), err, out, said.String())
	}
	return strings.TrimSpace(string(out))
}

// TestImage builds the image, with the tested program instead of the first stage's. It runs the
// image as configured: with its own files only, and not as root. The image's health check then
// reports the state of the service.
func TestImage(t *testing.T) {
	t.Parallel()
	deployTool(t, "buildah")
	if os.Getuid() != 0 {
		t.Skip("only root can run a program in the files of an image alone")
	}
	store, stage := t.TempDir(), stageOfProgram(t)
	buildah(t, store, "build", "--pull-never", "--build-context", "build="+stage, "-f", deployed+"/Dockerfile", "-t", "claviger", stage)
	var image struct{ Docker imageConfig }
	if err := json.Unmarshal([]byte(buildah(t, store, "inspect", "--type", "image", "claviger")), &image); err != nil {
		t.Fatal(err)
	}
	c := image.Docker.Config
	if _, ok := c.ExposedPorts["8080/tcp"]; !ok || c.User != "65532:65532" || c.WorkingDir != "/var/lib/claviger" {
		t.Errorf("the image is %+v", c)
	}
	root := buildah(t, store, "mount", buildah(t, store, "from", "--pull-never", "claviger"))
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...) // a path in the image
		cmd.Dir, cmd.Env = c.WorkingDir, c.Env
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
		return cmd
	}
	port := freePort(t)
	c.Env = append(slices.DeleteFunc(c.Env, func(v string) bool { return v == "CLAVIGER_ADDR=:8080" }), "CLAVIGER_ADDR=:"+port, "CLAVIGER_ADMIN_ADDR=off")
	health := c.Healthcheck.Test
	if len(health) != 3 || health[0] != "CMD" {
		t.Fatalf("the health check is %q", health)
	}
	if out, err := run(health[1:]...).CombinedOutput(); err == nil {
		t.Errorf("nothing runs, and the health check says %s", out)
	}
	serveUntilHealthy(t, run(append(slices.Clone(c.Entrypoint), c.Cmd...)...), func() *exec.Cmd { return run(health[1:]...) })
	info, err := os.Stat(filepath.Join(root, "/var/lib/claviger/claviger.db"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the database in the volume: %v, %v", info, err)
	}
}

// stageOfProgram returns a folder with the output of the image's first stage.
func stageOfProgram(t *testing.T) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	stage := t.TempDir()
	for name, mode := range map[string]os.FileMode{"out/data": 0o700, "out/tmp": os.ModeSticky | 0o777} {
		if err := os.MkdirAll(filepath.Join(stage, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(stage, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(stage, "out/ca-certificates.crt"), nil, 0o644); err != nil { //nolint:gosec // readable by all
		t.Fatal(err)
	}
	text, err := os.ReadFile(path) //nolint:gosec // we built it
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(stage, "out/claviger"), text, 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return stage
}

// serveUntilHealthy starts the service, waits until the health check passes, and stops it.
func serveUntilHealthy(t *testing.T, serve *exec.Cmd, health func() *exec.Cmd) {
	t.Helper()
	var log strings.Builder
	serve.Stderr = &log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve.Wait() }()
	for {
		check := health()
		out, err := check.CombinedOutput()
		if err == nil {
			break
		}
		if code := check.ProcessState.ExitCode(); code != 3 && code != 4 { // not started or not ready yet
			t.Errorf("the health check ended with %d: %s", code, out)
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("the service ended: %v\n%s", err, log.String())
		case <-t.Context().Done():
			t.Fatalf("it is not healthy: %s", out)
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it did not end in order: %v\n%s", err, log.String())
	}
}

// TestImageBuild: the first stage of the image builds the program like a release, with the Go
// version of go.mod.
func TestImageBuild(t *testing.T) {
	t.Parallel()
	onceForBoth(t)
	text := deployFile(t, "Dockerfile")
	module, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(module))[1]
	if !strings.Contains(text, "FROM golang:"+version+"-") {
		t.Errorf("the image is not built with Go %s, as go.mod says", version)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	build := regexp.MustCompile(`(?m)^BUILD +:= (.*)$`).FindStringSubmatch(string(makefile))
	if build == nil || !strings.Contains(text, "RUN "+strings.ReplaceAll(build[1], "$(GO)", "go")+" -o /out/claviger ./cmd/claviger\n") {
		t.Errorf("the image is not built as the Makefile builds: %q", build)
	}
}
