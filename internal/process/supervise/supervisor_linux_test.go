package supervise

import (
	"os"
	"testing"
)

// TestSupervisor_UnkillableProcesses checks that later starts do not wait for a supervisor that has
// reported processes it may not kill, since those processes may never end. It changes the name by
// which package process finds supervisors.
func TestSupervisor_UnkillableProcesses(t *testing.T) {
	t.Cleanup(func() { _ = setName("supervise.test") }) // the name of the test binary
	for left, want := range map[int]bool{0: true, 1: false} {
		if err := setName(Comm); err != nil {
			t.Fatal(err)
		}
		control, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		(&supervisor{control: control}).end(left)
		if err := control.Close(); err != nil {
			t.Fatal(err)
		}
		if e, ok := Look(os.Getpid()); !ok || (e.Comm == Comm) != want {
			t.Errorf("%d left: the name is %q", left, e.Comm)
		}
	}
}
