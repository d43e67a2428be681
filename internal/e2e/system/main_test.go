package system_test

import (
	"fmt"
	"os"
	"testing"
)

// switchedOn is the variable by which make system-test runs these tests.
const switchedOn = "CLAVIGER_SYSTEM_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(switchedOn) == "" {
		fmt.Println("these tests run by make system-test")
		return
	}
	os.Exit(m.Run())
}
