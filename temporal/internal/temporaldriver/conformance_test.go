package temporaldriver_test

import (
	"testing"

	"github.com/hocket-run/hocket/internal/driver/drivertest"
)

// TestConformance runs the conformance suite of all drivers on a real server and in real time.
func TestConformance(t *testing.T) {
	newCluster(t)
	drivertest.Run(t, drivertest.Driver{Open: func(t *testing.T) drivertest.Cluster { return memoryCluster(t) },
		RealTime: true, Lacks: lacks})
}

// TestConformancePostgres runs the same suite on the store that the driver is designed for.
func TestConformancePostgres(t *testing.T) {
	newCluster(t)
	drivertest.Run(t, drivertest.Driver{Open: func(t *testing.T) drivertest.Cluster { return postgresCluster(t) },
		RealTime: true, Lacks: lacks})
}

// lacks lists the parts that the driver does not have, and why.
var lacks = map[drivertest.Part]string{
	drivertest.PartInterrupt: "no process drives a run on Temporal: where one stops, the others go on with it",
	drivertest.PartPace:      "a call costs the server of Temporal more than the suite grants; bench/scale measures it",
	drivertest.PartSharing:   "Temporal hands calls to workers that have room; no process claims a run",
	drivertest.PartPrograms: "a program that works takes the answers that were left for it at once, so that none is " +
		"left to take; TestForeignAnswer holds the rest",
	drivertest.PartCrash: "the death of a worker is seen after the timeout of heartbeats, which is longer than a " +
		"test of each write may take; kill_test.go kills workers at the writes that differ",
	drivertest.PartOwnership: "no process owns a run on Temporal; package embedded holds the rest for the runs that " +
		"it drives beside them",
}
