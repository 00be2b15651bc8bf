//go:build notemporal

package main

import "github.com/hocket-run/hocket/internal/driver/carry"

// connectTemporal is nil: --temporal is refused.
var connectTemporal carry.Connect
