//go:build !linux

package process_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
