package run_test

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if tools := os.Getenv(envStandIn); tools != "" {
		os.Exit(serveStandIn(tools))
	}
	if db := os.Getenv(envStarter); db != "" {
		os.Exit(startAtOnce(db))
	}
	os.Exit(m.Run())
}
