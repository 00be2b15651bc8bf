//go:build !notemporal

package main

import (
	"github.com/hocket-run/hocket/internal/driver/carry"
	"github.com/hocket-run/hocket/internal/driver/temporal/carrier"
)

// connectTemporal connects to Temporal. Its SDK makes the program half as large again (ADR 90): the build tag notemporal leaves it out.
var connectTemporal carry.Connect = carrier.Connect
